# Element 6 t + s of a file is the gradient of output t by input s.
set multiplot layout 1,2
set size ratio 1
unset grid
set xrange [-0.5:5.5]
set yrange [5.5:-0.5]
set xtics 1
set ytics 1
set xlabel "input token"
set ylabel "output token"
set palette defined (0 "white", 0.0005 "#dce6f0", 0.2 "#4682b4", 1.1 "#1f3a52")
set cbrange [0:1.1]
across(i) = int(i) % 6
down(i) = int(i) / 6
set title "Causal mask"
plot T."/causal/block" using (across($0)):(down($0)):1 with image pixels notitle
set title "No mask"
plot T."/all/block" using (across($0)):(down($0)):1 with image pixels notitle
unset multiplot
