//! W1203: a literal that is not the number it says, because it becomes a `float32`.
//!
//! Every decimal fraction is rounded; that is no finding. Becoming infinite or zero, or another
//! whole number, is.

use crate::check::messages;
use crate::diag::Diagnostic;
use crate::source::Span;

/// The finding for a literal `value` at `span`, whose text is `text`, that becomes a `float32`.
pub fn narrowed(value: f64, span: Span, text: &str) -> Option<Diagnostic> {
    // Computed constants, and `wp.inf`, have no digits of their own.
    if !text.starts_with(|c: char| c.is_ascii_digit() || c == '.') || !value.is_finite() {
        return None;
    }
    let narrow = value as f32;
    let what = if narrow.is_infinite() {
        "infinite".to_string()
    } else if narrow == 0.0 && value != 0.0 {
        "zero".to_string()
    } else if value.fract() == 0.0 && f64::from(narrow) != value && value.abs() < 1e15 {
        format!("{narrow:.1}")
    } else {
        return None;
    };
    let wide = format!("wp.float64({text})");
    Some(messages::lints::narrowed_literal(text, &what, &wide, span))
}
