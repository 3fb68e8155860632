/* A verify_chain in C (Leviathan et al., 2211.17192, algorithm 1), as a subject of specverify:

       cc -std=c11 -O2 -o verify_chain verify_chain.c && specverify audit exec:./verify_chain

   -DSEEDED draws by itself, from the seed of each call, instead of taking its uniform numbers as coins.
   -DFAULT=1 draws the bonus token from the row before it; -DFAULT=2 draws the replacement with the number that rejected the draft. */

#include "specverify.h"

#ifndef FAULT
#define FAULT 0
#endif

#ifdef SEEDED
#define RANDOMNESS "\"seed\":\"int\""
#else
#define RANDOMNESS "\"rng\":\"coins\""
#endif

struct row { /* of weights: max(0, p - q), or p where there is no q */
    const struct array *p, *q;
    int64_t i;
};

static double weight(struct row row, int64_t x) {
    double w = entry(row.p, row.i, x) - (row.q ? entry(row.q, row.i, x) : 0);
    return w > 0 ? w : 0;
}

/* A token by inverse CDF; never one of weight zero. */
static int64_t pick(struct row row, double u) {
    double total = 0, sum = 0;
    int64_t last = 0;
    for (int64_t x = 0; x < row.p->width; x++) total += weight(row, x);
    for (int64_t x = 0; x < row.p->width; x++) {
        if (weight(row, x) == 0) continue;
        last = x, sum += weight(row, x);
        if (u * total < sum) break;
    }
    return last;
}

/* Accepts draft tokens while u q(x) < p(x); returns the accepted length n and gives the token behind them. */
static int64_t step(const struct array *p, const struct array *q, const struct array *draft, const double *coins, int64_t *token) {
    int64_t gamma = q->rows;
    for (int64_t n = 0; n < gamma; n++) {
        int64_t x = (int64_t)entry(draft, 0, n);
        if (coins[n] * entry(q, n, x) < entry(p, n, x)) continue;
        *token = pick((struct row){p, q, n}, coins[FAULT == 2 ? n : gamma]);
        return n;
    }
    *token = pick((struct row){p, NULL, gamma - (FAULT == 1)}, coins[gamma]);
    return gamma;
}

/* gamma + 1 uniform numbers: the coins that were handed over, or splitmix64 from the seed. */
static double *uniforms(const struct frame *frame, const char *call, int64_t count) {
    double *numbers = malloc(sizeof(double) * count);
    const char *seed = json_member(call, "seed");
    uint64_t state = seed ? strtoull(seed, NULL, 10) << 20 : 0;
    struct array coins = json_array(frame, json_member(call, "coins"));
    for (int64_t i = 0; i < count; i++) {
        uint64_t z = state += 0x9E3779B97F4A7C15;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9, z = (z ^ z >> 27) * 0x94D049BB133111EB;
        numbers[i] = coins.data ? entry(&coins, 0, i) : (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
    }
    return numbers;
}

static void answer_call(FILE *out, const struct frame *frame, const char *call, int id, const char *name) {
    const char *told = json_member(call, "case");
    struct array p = json_array(frame, json_member(told, "p")), q = json_array(frame, json_member(told, "q"));
    struct array draft = json_array(frame, json_member(told, "draft"));
    double *coins = uniforms(frame, call, q.rows + 1);
    int64_t token, n = step(&p, &q, &draft, coins, &token);
    char tokens[4096] = "", *end = tokens;
    for (int64_t i = 0; i < n; i++) end += sprintf(end, "%lld,", (long long)entry(&draft, 0, i));
    write_frame(out, "{\"id\":%.*s,\"replies\":[{\"is\":\"value\",\"value\":[%s%lld]}]}", id, name, tokens, (long long)token);
    free(coins);
}

int main(int count, char **words) {
    if (count < 3) return fprintf(stderr, "usage: verify_chain REQUEST_FD REPLY_FD\n"), 2;
    FILE *in = fdopen(atoi(words[count - 2]), "rb"), *out = fdopen(atoi(words[count - 1]), "wb");
    struct frame frame;
    for (write_frame(out, "{\"protocol\":1}"); read_frame(in, &frame); free(frame.json), free(frame.bytes)) {
        const char *todo = json_member(frame.json, "do"), *name = json_member(frame.json, "id");
        int id = (int)(json_behind(name) - name);
        if (json_is(todo, "describe"))
            write_frame(out, "{\"id\":%.*s,\"subjects\":[{\"name\":\"step\",\"contract\":\"verify_chain\",\"rule\":\"standard\",\"dtypes\":[\"float32\",\"float64\"],%s}],\"versions\":{\"cc\":\"%s\"}}", id, name, RANDOMNESS, __VERSION__);
        else if (json_is(todo, "call"))
            answer_call(out, &frame, json_first(json_member(frame.json, "cases")), id, name);
        else
            write_frame(out, "{\"id\":%.*s,\"error\":{\"message\":\"This program cannot do that.\",\"hint\":\"Ask describe or call.\",\"kind\":\"protocol\"}}", id, name);
    }
    return 0;
}
