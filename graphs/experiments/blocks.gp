set terminal svg size 760,600 font "sans-serif,12" background rgb "white"
set multiplot layout 2,2
set xtics 1
set key top left
set title "Standard deviation through 4 blocks"
set xlabel "before block"
set yrange [0:1.6]
plot T."/pre/std"  using 0:1 with linespoints title "pre-norm", \
     T."/post/std" using 0:1 with linespoints title "post-norm"
set title "Mean through 4 blocks"
set yrange [-0.1:0.1]
plot T."/pre/mean"  using 0:1 with linespoints title "pre-norm", \
     T."/post/mean" using 0:1 with linespoints title "post-norm"
set title "Standard deviation through 12 blocks"
set yrange [0:2.4]
plot T."/deep_pre/std"  using 0:1 with linespoints title "pre-norm", \
     T."/deep_post/std" using 0:1 with linespoints title "post-norm", \
     T."/deep_none/std" using 0:1 with linespoints title "no residuals", \
     T."/deep_bare/std" using 0:1 with linespoints title "neither"
set title "Norm of dL/dh through 12 blocks"
set logscale y
set yrange [1e-15:1e3]
set ytics 1000
set format y "10^{%T}"
set key bottom right
plot T."/deep_pre/gradient"  using 0:1 with linespoints title "pre-norm", \
     T."/deep_post/gradient" using 0:1 with linespoints title "post-norm", \
     T."/deep_none/gradient" using 0:1 with linespoints title "no residuals", \
     T."/deep_bare/gradient" using 0:1 with linespoints title "neither"
unset multiplot
