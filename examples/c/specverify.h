/* Frames of specverify's protocol, and as much JSON as a subject needs: docs/protocol.md. For a little-endian machine.

   A request is JSON without white space. A pointer to a value points at its first character; what is not there is NULL. */

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct frame {
    char *json;
    unsigned char *bytes;
};

struct array { /* rows of length `width`, one row if it has one axis */
    int64_t rows, width;
    char dtype[16];
    unsigned char *data;
};

/* The next frame, which the caller frees; 0 at the end of the pipe. */
static int read_frame(FILE *in, struct frame *frame) {
    uint32_t lengths[2];
    if (fread(lengths, sizeof lengths, 1, in) != 1) return 0;
    frame->json = calloc(lengths[0] + 1, 1);
    frame->bytes = malloc(lengths[1] + 1);
    return frame->json && frame->bytes && fread(frame->json, 1, lengths[0], in) == lengths[0] && fread(frame->bytes, 1, lengths[1], in) == lengths[1];
}

/* A frame of JSON alone, printed as printf does. */
static void write_frame(FILE *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    uint32_t lengths[2] = {vsnprintf(NULL, 0, format, arguments), 0};
    va_end(arguments);
    fwrite(lengths, sizeof lengths, 1, out);
    va_start(arguments, format);
    vfprintf(out, format, arguments);
    va_end(arguments);
    fflush(out);
}

/* Behind the value that stands here. */
static const char *json_behind(const char *at) {
    if (*at == '"') {
        for (at++; *at && *at != '"'; at++)
            if (*at == '\\' && at[1]) at++;
        return at + (*at != 0);
    }
    if (*at != '{' && *at != '[') return at + strcspn(at, ",]}");
    for (int depth = 0; *at;) {
        if (*at == '"') {
            at = json_behind(at);
            continue;
        }
        depth += (*at == '{' || *at == '[') - (*at == '}' || *at == ']');
        at++;
        if (!depth) break;
    }
    return at;
}

/* The member of an object, or NULL. */
static const char *json_member(const char *object, const char *name) {
    const char *at = object && *object == '{' ? object + 1 : "";
    while (*at == '"') {
        const char *found = at + 1;
        at = json_behind(at);
        if ((size_t)(at - 1 - found) == strlen(name) && !strncmp(found, name, strlen(name))) return at + 1;
        at = json_behind(at + 1);
        at += *at == ',';
    }
    return NULL;
}

/* The first item of a list, or NULL. */
static const char *json_first(const char *list) { return list && *list == '[' && list[1] != ']' ? list + 1 : NULL; }

/* Whether the value is this string. */
static int json_is(const char *value, const char *text) {
    return value && *value == '"' && !strncmp(value + 1, text, strlen(text)) && value[1 + strlen(text)] == '"';
}

/* An array of one or two axes; its data lies in the frame. */
static struct array json_array(const struct frame *frame, const char *value) {
    struct array a = {1, 0, "", NULL};
    long long first = 0, second = 0, offset = 0;
    const char *told = json_member(value, "$array");
    if (told && sscanf(told, "[\"%15[a-z0-9]\",[%lld,%lld],%lld", a.dtype, &first, &second, &offset) == 4) {
        a.rows = first, a.width = second, a.data = frame->bytes + offset;
    } else if (told && sscanf(told, "[\"%15[a-z0-9]\",[%lld],%lld", a.dtype, &first, &offset) == 3) {
        a.width = first, a.data = frame->bytes + offset;
    }
    return a;
}

/* One entry of an array of float32, float64 or int64. */
static double entry(const struct array *a, int64_t row, int64_t column) {
    int64_t place = row * a->width + column;
    if (!strcmp(a->dtype, "float32")) return ((float *)a->data)[place];
    return !strcmp(a->dtype, "float64") ? ((double *)a->data)[place] : (double)((int64_t *)a->data)[place];
}
