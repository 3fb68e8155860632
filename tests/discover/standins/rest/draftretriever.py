class Writer:
    def __init__(self, index_file_path, max_chunk_len, vocab_size):
        self.path, self.rows = index_file_path, []

    def add_entry(self, tokens):
        self.rows.append(list(tokens))

    def finalize(self):
        with open(self.path, "w") as file:
            file.writelines(" ".join(map(str, row)) + "\n" for row in self.rows)


class Reader:
    def __init__(self, path):
        with open(path) as file:
            self.rows = [[int(word) for word in line.split()] for line in file]

    def search(self, tokens, k=5000, choices=64, long=10):
        ends = [(row, at + len(tokens)) for row in self.rows for at in range(len(row)) if row[at : at + len(tokens)] == list(tokens)]
        return [row[end : end + long] for row, end in ends[:k]][:choices]
