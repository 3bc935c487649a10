"""Steps of training on a CUDA device, against PyTorch on the same one."""
