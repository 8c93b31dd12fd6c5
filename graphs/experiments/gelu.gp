set multiplot layout 1,2
set xrange [-3:3]
set xlabel "x"
set xzeroaxis linetype 3 linewidth 1
set yzeroaxis linetype 3 linewidth 1
set key top left
curve = "< paste -d' ' ".T."/gelu/x ".T."/gelu/"
set title "Activation"
plot curve."gelu"      with lines linetype 1 title "GELU", \
     curve."gelu_tanh" with lines linetype 4 dashtype 2 title "GELU by tanh", \
     curve."relu"      with lines linetype 2 dashtype 3 title "ReLU"
set title "Derivative"
set key bottom right
plot curve."gelu_slope"      with lines linetype 1 title "GELU", \
     curve."gelu_tanh_slope" with lines linetype 4 dashtype 2 title "GELU by tanh", \
     curve."relu_slope"      with lines linetype 2 dashtype 3 title "ReLU"
unset multiplot
