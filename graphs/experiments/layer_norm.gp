# Bins of width 1 from -8 on; a box stands at the middle of its bin.
set multiplot layout 1,2
set style fill solid 0.7 noborder
set boxwidth 0.9
set xrange [-8.5:10.5]
set yrange [0:65]
set xlabel "activation"
set title "Before layer norm"
set ylabel "of 192 values"
plot T."/layer_norm/before" using ($0 - 7.5):1 with boxes linetype 2 notitle
set title "After layer norm"
unset ylabel
plot T."/layer_norm/after" using ($0 - 7.5):1 with boxes linetype 1 notitle
unset multiplot
