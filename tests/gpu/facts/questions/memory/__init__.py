"""Memory of every kind: allocation, release, copies, pointers, pools, arrays and textures."""
