/* The extension module itself, the version of its functions, and whether they share work by OpenMP.
 *
 * All functions are called through ctypes: plain pointers and structs, no Python objects. library.py loads them. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Raised whenever a function is added, or a function or a struct takes other arguments; ABI in library.py. */
int angsync_abi(void) { return 58; }

int angsync_openmp(void) {
#ifdef _OPENMP
    return 1;
#else
    return 0;
#endif
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", "Compiled kernels; called through ctypes.", -1,
                                        NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&definition); }
