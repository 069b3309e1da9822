#!/bin/bash
# What kc does, on the examples: demo.sh PATH_TO_KC. Results go to out/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
kc=$1
out=out/demo
rm -rf "$out"
mkdir -p "$out"

title() { printf '\n%s\n%s\n' "$1" "${1//?/-}"; }
lines() { wc -l <"$1"; }

title "1. Every example, compiled to PTX for sm_90 and to CUDA C++"
printf '%-14s %-34s %8s %8s %9s\n' file kernels "PTX" "CUDA" "ms"
for file in examples/*.py; do
    name=$(basename "$file" .py)
    start=$(date +%s%N)
    "$kc" compile "$file" --emit ptx,cuda -o "$out"
    spent=$(( ($(date +%s%N) - start) / 1000000 ))
    kernels=$(sed -n 's/^\.visible \.entry \(.*\)_cuda_kernel_forward.*/\1/p' "$out/$name.ptx" | paste -sd' ')
    printf '%-14s %-34s %8s %8s %9s\n' "$name" "$kernels" "$(lines "$out/$name.ptx")" "$(lines "$out/$name.cu")" "$spent"
done
echo "(lines of text, and milliseconds for the whole process; the files are in $out)"

title "2. What saxpy became"
sed -n '/^extern "C"/,/^}/p' "$out/saxpy.cu"

title "3. Run on this machine's processor: y = 2 x + y for a million elements"
"$kc" run examples/saxpy.py --dim 1000000 --arg a=2.0 --arg x=range:1000000 --arg y=ones:1000000 --print y:5

title "4. The Mandelbrot set, computed by one kernel and drawn by another"
"$kc" run examples/mandelbrot.py -k mandelbrot --dim 26x78 --arg count=zeros:26x78 --arg corner=-2.2,-1.17 \
    --arg pixel=0.04,0.09 --arg limit=200 --out-dir "$out/mandelbrot" >/dev/null
"$kc" run examples/mandelbrot.py -k draw --dim 1 --arg count=@"$out/mandelbrot/count.npy" --arg limit=200

title "5. A ray-marched picture"
start=$(date +%s%N)
"$kc" run examples/raymarch.py -k raymarch --dim 400x640 --arg image=zeros:400x640 --arg eye=1.8,1.9,4.2 \
    --arg target=0,0.75,0 --png image="$out/raymarch.png" >/dev/null
spent=$(( ($(date +%s%N) - start) / 1000000 ))
echo "640 x 400 pixels, 4 rays each, in $spent ms including compilation: $out/raymarch.png"
