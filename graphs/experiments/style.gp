# What all pictures have in common.  tests/experiments.sh sets `name`, the file to write, and
# T, the folder with the numbers: a file an output, a number a line.
set terminal svg size 760,340 font "sans-serif,12" background rgb "white"
set output name
set linetype 1 linecolor rgb "#4682b4" linewidth 2 pointtype 7 pointsize 0.5 # steel blue
set linetype 2 linecolor rgb "#e0533a" linewidth 2 pointtype 7 pointsize 0.5 # tomato
set linetype 3 linecolor rgb "#777777" linewidth 2 pointtype 7 pointsize 0.5
set linetype 4 linecolor rgb "#6a9f3a" linewidth 2 pointtype 7 pointsize 0.5
set grid linecolor rgb "#dddddd" linewidth 1
set border linecolor rgb "#777777"
set key noenhanced
