/* The extension module itself, the version of its functions, and whether they share work by OpenMP.
 *
 * All functions are called through ctypes: plain pointers and structs, no Python objects. library.py loads them. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Raised whenever a function is added, or a function or a struct takes other arguments; ABI in library.py. */
int angsync_abi(void) { return 60; }

int angsync_openmp(void) {
#ifdef _OPENMP
    return 1;
#else
    return 0;
#endif
}

/* The best set of instructions that this machine has: its place among SETS in library.py. */
int angsync_instructions(void) {
#if defined(__GNUC__) && defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return 2;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 1;
#endif
    return 0;
}

#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
#define BEGIN_(name) PyInit_##name
#define BEGIN(name) BEGIN_(name)

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, TEXT(MODULE), "Compiled kernels; called through ctypes.", -1,
                                        NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC BEGIN(MODULE)(void) { return PyModule_Create(&definition); }
