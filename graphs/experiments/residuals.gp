set title "Gradient through 10 layers of width 32"
set xlabel "before layer"
set ylabel "norm of dL/dh"
set logscale y
set format y "10^{%T}"
set xtics 1
set key bottom right
plot T."/depth/residual" using 0:1 with linespoints title "h + tanh(f(h))", \
     T."/depth/plain"    using 0:1 with linespoints title "tanh(f(h))", \
     T."/depth/linear"   using 0:1 with linespoints title "f(h)"
