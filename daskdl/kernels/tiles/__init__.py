"""Register tiles: machine code for loop nests of products whose sizes are all known.

Convolutions, recurrences and small dense layers are sums of products over a handful of
nested loops. Here such a nest is a value (:mod:`~daskdl.kernels.tiles.nest`); it is cut
into tiles that fit the vector registers (:mod:`~daskdl.kernels.tiles.blocking`),
written as LLVM IR with every size and stride a constant
(:mod:`~daskdl.kernels.tiles.emit`), and compiled in a few milliseconds, once for a kind
of CPU (:mod:`~daskdl.kernels.tiles.native`)::

    for each example                              the only count known at run time
      for each block of columns                   1 to 6 vectors of them
        for each line of rows
          for each block of rows                  a tile: rows x vectors registers
            registers = 0, bias or C
            for each product of the sum
              load the row of B: `vectors` loads
              for each row: spread one number of A, multiply and add `vectors` times
            C = registers

A tile of 13 rows and 2 vectors makes 26 products from 15 loads, so that the two
multiply-add units of a core do not wait for memory.
"""
