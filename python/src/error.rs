//! Which exception is raised? The classes are Python's (`kc/_errors.py`); this finds what they are
//! reported.

use kc::run::devices::TrapKind;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

/// An argument that does not fit: code and text.
pub struct Refused {
    pub code: &'static str,
    pub message: String,
    pub help: Option<String>,
}

impl Refused {
    pub fn new(code: &'static str, message: impl Into<String>) -> Refused {
        Refused { code, message: message.into(), help: None }
    }

    pub fn help(mut self, help: impl Into<String>) -> Refused {
        self.help = Some(help.into());
        self
    }

    pub fn raise(self, py: Python<'_>) -> PyErr {
        let facts = PyDict::new(py);
        let help = self.help.map(|help| format!("\n  = help: {help}")).unwrap_or_default();
        let text = format!("error[{}]: {}{help}", self.code, self.message);
        let fill = || -> PyResult<()> {
            facts.set_item("code", self.code)?;
            facts.set_item("message", &self.message)?;
            facts.set_item("text", text)
        };
        fill().and_then(|()| made(py, &facts)).unwrap_or_else(|error| error)
    }
}

/// Why an argument was not taken.
pub enum Fault {
    Refused(Refused),
    /// Python code that was called raised it.
    Raised(PyErr),
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Fault {
        Fault::Refused(refused)
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Fault {
        Fault::Raised(error)
    }
}

impl Fault {
    /// With the name of what was not taken.
    pub fn of(mut self, what: &str) -> Fault {
        if let Fault::Refused(refused) = &mut self {
            refused.message = format!("{what}: {}", refused.message);
        }
        self
    }

    pub fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Fault::Refused(refused) => refused.raise(py),
            Fault::Raised(error) => error,
        }
    }
}

/// The exception for an error of kc.
pub fn raise(py: Python<'_>, error: &kc::Error) -> PyErr {
    let facts = PyDict::new(py);
    let fill = || -> PyResult<()> {
        facts.set_item("code", error.code())?;
        facts.set_item("codes", error.codes().collect::<Vec<_>>())?;
        facts.set_item("message", error.message())?;
        facts.set_item("text", error.to_string())?;
        facts.set_item("json", error.json())?;
        facts.set_item("printed", error.printed())?;
        if let Some(at) = error.location() {
            facts.set_item("filename", at.path.display().to_string())?;
            facts.set_item("lineno", at.line)?;
            facts.set_item("column", at.column)?;
        }
        if let Some(thread) = error.thread() {
            facts.set_item("thread", PyTuple::new(py, thread)?)?;
        }
        match error.trap() {
            Some(TrapKind::OutOfBounds { array, dim, index, extent }) => {
                facts.set_item("array", array.as_deref())?;
                facts.set_item("dimension", dim)?;
                facts.set_item("index", index)?;
                facts.set_item("extent", extent)?;
            }
            Some(TrapKind::Component { name, index, count }) => {
                facts.set_item("array", name.as_deref())?;
                facts.set_item("index", index)?;
                facts.set_item("extent", count)?;
            }
            Some(TrapKind::Assert { .. } | TrapKind::Waits { .. }) | None => {}
        }
        Ok(())
    };
    fill().and_then(|()| made(py, &facts)).unwrap_or_else(|error| error)
}

fn made(py: Python<'_>, facts: &Bound<'_, PyDict>) -> PyResult<PyErr> {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let make = MAKE.import(py, "kc._errors", "make")?;
    Ok(PyErr::from_value(make.call1((facts,))?))
}
