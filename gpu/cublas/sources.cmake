set(TROUPE_CUBLAS_SOURCES
  cublas/matmul.cpp)
