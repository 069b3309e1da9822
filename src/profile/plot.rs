//! The roofline as a picture: operations a second over operations for a byte, both by powers of
//! ten, as SVG or as PNG.

use std::fmt::Write as _;

use super::font::GLYPHS;
use super::roofline::{Roofline, short};
use crate::html::escape;

const WIDTH: f64 = 760.0;
/// Of the axes; the legend has a line for each launch below them.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 380.0;
const LEGEND: f64 = 18.0;

type Colour = [u8; 3];
const INK: Colour = [0x1b, 0x1f, 0x24];
const GRID: Colour = [0xe2, 0xe5, 0xe9];
const DRAM: Colour = [0x0a, 0x58, 0xca];
const COMPUTE: Colour = [0x2d, 0xa4, 0x4e];
const DOT: Colour = [0xd9, 0x48, 0x0f];

/// What is drawn.
enum Mark {
    Line {
        from: [f64; 2],
        to: [f64; 2],
        colour: Colour,
        width: f64,
    },
    Dot {
        at: [f64; 2],
        colour: Colour,
    },
    /// From its left end, or to its right one.
    Text {
        at: [f64; 2],
        ends: bool,
        text: String,
        colour: Colour,
    },
}

/// Launches with their names under the roofs of the GPU that all are measured by.
pub struct Picture {
    marks: Vec<Mark>,
    height: f64,
}

/// The powers of ten around some numbers, and at least those given.
fn decades(values: impl Iterator<Item = f64>, least: [i32; 2]) -> [f64; 2] {
    let [mut low, mut high] = least;
    for value in values.filter(|value| value.is_finite() && *value > 0.0) {
        low = low.min(value.log10().floor() as i32);
        high = high.max(value.log10().ceil() as i32);
    }
    [low.into(), high.into()]
}

impl Picture {
    /// None: there is no launch.
    pub fn of(launches: &[(String, &Roofline)]) -> Option<Picture> {
        let gpu = launches.first()?.1.gpu;
        let (flops32, flops64, bandwidth) = (gpu.flops32(), gpu.flops64(), gpu.bandwidth * 1e9);
        let x = decades(launches.iter().filter_map(|(_, roof)| roof.intensity()), [-2, 3]);
        let reached = launches.iter().filter(|(_, roof)| roof.intensity().is_some()).filter_map(|(_, r)| r.most_flops);
        let y = decades(reached.chain([flops32]), [10, 12]);
        let place = |intensity: f64, flops: f64| {
            [
                LEFT + (RIGHT - LEFT) * (intensity.log10() - x[0]) / (x[1] - x[0]),
                BOTTOM - (BOTTOM - TOP) * (flops.log10() - y[0]) / (y[1] - y[0]),
            ]
        };
        let mut marks = Vec::new();
        let mut line = |from, to, colour, width| marks.push(Mark::Line { from, to, colour, width });
        let (ends, rows) = ([10f64.powf(x[0]), 10f64.powf(x[1])], [10f64.powf(y[0]), 10f64.powf(y[1])]);
        let powers = |[low, high]: [f64; 2]| (low as i32..=high as i32).map(|power| 10f64.powi(power));
        powers(x).for_each(|v| line(place(v, rows[0]), place(v, rows[1]), GRID, 1.0));
        powers(y).for_each(|v| line(place(ends[0], v), place(ends[1], v), GRID, 1.0));
        line(place(ends[0], rows[0]), place(ends[1], rows[0]), INK, 1.0);
        line(place(ends[0], rows[0]), place(ends[0], rows[1]), INK, 1.0);
        // The slope starts where it enters the picture, and ends under the highest roof.
        let start = ends[0].max(rows[0] / bandwidth);
        line(place(start, start * bandwidth), place(flops32 / bandwidth, flops32), DRAM, 2.0);
        line(place(flops32 / bandwidth, flops32), place(ends[1], flops32), COMPUTE, 2.0);
        line(place(flops64 / bandwidth, flops64), place(ends[1], flops64), COMPUTE, 2.0);
        let mut say = |at: [f64; 2], ends, text: String, colour| marks.push(Mark::Text { at, ends, text, colour });
        say([LEFT, 22.0], false, format!("Roofs of {} ({}), by its published peaks", gpu.name, gpu.arch), INK);
        for value in powers(x) {
            let [at, _] = place(value, rows[0]);
            // That of the edge ends with the picture.
            let is_last = at > RIGHT - 1.0;
            say([if is_last { RIGHT } else { at - 8.0 }, BOTTOM + 16.0], is_last, value.to_string(), INK);
        }
        for value in powers(y) {
            let [_, at] = place(ends[0], value);
            say([LEFT - 6.0, at + 4.0], true, short(value, "").trim_end().replace(".00", "").replace(".0", ""), INK);
        }
        say([LEFT - 6.0, TOP - 12.0], true, "FLOP/s".to_string(), INK);
        say([RIGHT, BOTTOM + 34.0], true, "operations for a byte of DRAM, at most".to_string(), INK);
        let [_, at] = place(1.0, flops32);
        say([RIGHT, at - 6.0], true, format!("float32 {}", short(flops32, "FLOP/s")), COMPUTE);
        let [_, at] = place(1.0, flops64);
        say([RIGHT, at - 6.0], true, format!("float64 {}", short(flops64, "FLOP/s")), COMPUTE);
        let on_slope = (start * flops64 / bandwidth).sqrt();
        let [at_x, at_y] = place(on_slope, on_slope * bandwidth);
        say([at_x - 8.0, at_y - 6.0], true, format!("DRAM {}", short(bandwidth, "B/s")), DRAM);
        for (n, (name, roof)) in (1..).zip(launches) {
            let below = BOTTOM + 40.0 + LEGEND * f64::from(n);
            let without = if roof.intensity().is_none() { " (not in the picture)" } else { "" };
            marks.push(Mark::Text {
                at: [LEFT, below],
                ends: false,
                text: format!("{n} {name}{without}: {}", brief(roof)),
                colour: INK,
            });
            if let Some((intensity, flops)) = roof.intensity().zip(roof.most_flops) {
                let at @ [x, y] = place(intensity, flops);
                marks.push(Mark::Dot { at, colour: DOT });
                marks.push(Mark::Text { at: [x + 8.0, y + 14.0], ends: false, text: n.to_string(), colour: DOT });
            }
        }
        Some(Picture { marks, height: BOTTOM + 56.0 + LEGEND * launches.len() as f64 })
    }

    /// For a file of its own, or for HTML, which needs no name space.
    pub fn svg(&self, alone: bool) -> String {
        let height = self.height;
        let space = if alone { " xmlns=\"http://www.w3.org/2000/svg\"" } else { "" };
        let mut text = format!(
            "<svg{space} width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"system-ui,sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"roofline\">\
             <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n"
        );
        let hex = |[r, g, b]: Colour| format!("#{r:02x}{g:02x}{b:02x}");
        for mark in &self.marks {
            let _ = match mark {
                Mark::Line { from: [a, b], to: [c, d], colour, width } => writeln!(
                    text,
                    "<path d=\"M{a:.1} {b:.1}L{c:.1} {d:.1}\" stroke=\"{}\" stroke-width=\"{width}\"/>",
                    hex(*colour)
                ),
                Mark::Dot { at: [x, y], colour } => {
                    writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{}\"/>", hex(*colour))
                }
                Mark::Text { at: [x, y], ends, text: words, colour } => writeln!(
                    text,
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{}\"{}>{}</text>",
                    hex(*colour),
                    if *ends { " text-anchor=\"end\"" } else { "" },
                    escape(words)
                ),
            };
        }
        text + "</svg>\n"
    }

    /// The bytes of a file, two pixels for each unit.
    pub fn png(&self) -> Result<Vec<u8>, png::EncodingError> {
        let mut canvas = Canvas::new((2.0 * WIDTH) as usize, (2.0 * self.height) as usize);
        for mark in &self.marks {
            match mark {
                Mark::Line { from, to, colour, width } => canvas.line(*from, *to, *width, *colour),
                Mark::Dot { at, colour } => canvas.dot(*at, *colour),
                Mark::Text { at, ends, text, colour } => canvas.text(*at, *ends, text, *colour),
            }
        }
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, canvas.width as u32, canvas.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&canvas.pixels)?;
        writer.finish()?;
        Ok(bytes)
    }
}

/// The bound of a launch, and what limits it.
fn brief(roof: &Roofline) -> String {
    match (roof.limiter(), roof.most_flops.or(roof.most_bytes)) {
        (Some(limiter), Some(most)) => {
            let unit = if roof.most_flops.is_some() { "FLOP/s" } else { "B/s" };
            format!("at most {}, limited by {limiter}", short(most, unit))
        }
        (Some(limiter), None) => format!("limited by {limiter}"),
        (None, _) => "nothing ran".to_string(),
    }
}

struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Canvas {
        Canvas { width, height, pixels: vec![255; 3 * width * height] }
    }

    /// Outside of the canvas there is nothing.
    fn set(&mut self, x: i64, y: i64, colour: Colour) {
        let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y)) else { return };
        if x < self.width && y < self.height {
            let at = 3 * (y * self.width + x);
            self.pixels[at..at + 3].copy_from_slice(&colour);
        }
    }

    fn line(&mut self, from: [f64; 2], to: [f64; 2], width: f64, colour: Colour) {
        let [dx, dy] = [2.0 * (to[0] - from[0]), 2.0 * (to[1] - from[1])];
        let steps = dx.abs().max(dy.abs()).ceil().max(1.0);
        let thick = (2.0 * width) as i64;
        for step in 0..=steps as i64 {
            let part = step as f64 / steps;
            let (x, y) = ((2.0 * from[0] + part * dx).round() as i64, (2.0 * from[1] + part * dy).round() as i64);
            // A square on every step.
            for i in 0..thick * thick {
                self.set(x + i % thick - thick / 2, y + i / thick - thick / 2, colour);
            }
        }
    }

    fn dot(&mut self, [x, y]: [f64; 2], colour: Colour) {
        let (x, y) = ((2.0 * x).round() as i64, (2.0 * y).round() as i64);
        for (dx, dy) in (-10..=10).flat_map(|dx| (-10..=10).map(move |dy| (dx, dy))) {
            if dx * dx + dy * dy <= 100 {
                self.set(x + dx, y + dy, colour);
            }
        }
    }

    /// Five by seven dots a letter, each of 2 x 2 pixels.
    fn text(&mut self, [x, y]: [f64; 2], ends: bool, text: &str, colour: Colour) {
        let wide = 12 * text.chars().count() as i64;
        let (left, top) = ((2.0 * x) as i64 - if ends { wide } else { 0 }, (2.0 * y) as i64 - 16);
        for (n, letter) in (0..).zip(text.chars()) {
            let known = (letter as usize).checked_sub(0x20).and_then(|at| GLYPHS.get(at));
            let columns = known.unwrap_or(&GLYPHS[usize::from(b'?' - 0x20)]);
            for (column, bits) in (0..).zip(columns) {
                for row in (0..8).filter(|row| bits >> row & 1 == 1) {
                    for i in 0..4 {
                        self.set(left + 12 * n + 2 * column + i % 2, top + 2 * row + i / 2, colour);
                    }
                }
            }
        }
    }
}
