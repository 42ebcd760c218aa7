"""The generator: records in, pages out. No JAX and no NumPy anywhere below this folder."""
