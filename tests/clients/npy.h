/*
 * Reads `.npy` files: little-endian floats or doubles, row-major, at most five axes.
 *
 * The format is a magic, a version, the length of a header, and the header: a Python dictionary with `descr`,
 * `fortran_order` and `shape` (numpy.lib.format). Anything else than expected is refused with a sentence.
 */
#ifndef TENON_TESTS_NPY_H
#define TENON_TESTS_NPY_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct NpyArray {
  uint32_t ndims;
  uint32_t shape[5];
  size_t count;   /* elements */
  size_t bytes;   /* of all elements */
  void *elements; /* from malloc */
} NpyArray;

static void npy_refuse(const char *path, const char *expected) {
  fprintf(stderr, "%s: expected %s\n", path, expected);
  exit(1);
}

/* The whole file, and a NUL behind it. */
static char *npy_read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) npy_refuse(path, "a file that can be read");
  long end = ftell(file);
  rewind(file);
  char *bytes = end < 0 ? NULL : aligned_alloc(64, ((size_t)end / 64 + 1) * 64);
  if (bytes == NULL || fread(bytes, 1, (size_t)end, file) != (size_t)end) npy_refuse(path, "a file that can be read");
  fclose(file);
  bytes[end] = '\0';
  *size = (size_t)end;
  return bytes;
}

/* `(2, 3)`, `(7,)` or `()`. */
static void npy_parse_shape(const char *path, const char *text, NpyArray *array) {
  array->ndims = 0;
  array->count = 1;
  while (*text != ')') {
    char *end;
    unsigned long length = strtoul(text, &end, 10);
    if (end == text || array->ndims == 5 || length == 0 || length > UINT32_MAX) npy_refuse(path, "at most five axes");
    array->shape[array->ndims++] = (uint32_t)length;
    array->count *= length;
    text = end + strspn(end, ", ");
  }
}

/* Reads elements of type `descr`: "<f4" or "<f8". */
static NpyArray npy_read(const char *path, const char *descr) {
  size_t size;
  char *file = npy_read_file(path, &size);
  if (size < 10 || memcmp(file, "\x93NUMPY\x01", 7) != 0) npy_refuse(path, "a .npy file of version 1");
  size_t header = (size_t)(uint8_t)file[8] | (size_t)(uint8_t)file[9] << 8;
  if (size < 10 + header) npy_refuse(path, "a header that is not cut off");
  file[10 + header - 1] = '\0'; /* the header's own newline */
  const char *text = file + 10, *type = strstr(text, "'descr': '"), *shape = strstr(text, "'shape': (");
  if (type == NULL || strncmp(type + 10, descr, 3) != 0) npy_refuse(path, descr);
  if (strstr(text, "'fortran_order': False") == NULL) npy_refuse(path, "row-major order");
  if (shape == NULL) npy_refuse(path, "a shape");
  NpyArray array;
  npy_parse_shape(path, shape + 10, &array);
  array.bytes = array.count * (size_t)(descr[2] - '0');
  if (size != 10 + header + array.bytes) npy_refuse(path, "as many elements as the shape says");
  array.elements = malloc(array.bytes);
  if (array.elements == NULL) npy_refuse(path, "enough memory");
  memcpy(array.elements, file + 10 + header, array.bytes);
  free(file);
  return array;
}

#endif
