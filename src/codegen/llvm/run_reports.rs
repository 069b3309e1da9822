//! How do prints, asserts and reports of bad indices leave the kernel? On the host through the
//! run's [`HostStatus`]; on the device through the driver's `vprintf` and `__assertfail`, or
//! through memory of who launches: [`DeviceStatus`], [`PrintRing`].

use std::mem::offset_of;

use smallvec::smallvec;

use super::builder::{AtomicRMWBinOp, Attribute, AttributeLoc, Func, IntPredicate, Ty, Val};
use super::lower::{Frame, Lower, Scalars, Target};
use super::options::Checks;
use super::print_format::{self, ReadAs, Wanted};
use crate::abi::{DEVICE_PRINTS, DeviceStatus, HostStatus, PRINT_WORDS, PrintRing};
use crate::codegen::prints::Print;
use crate::codegen::sites::SiteKind;
use crate::ir::{DEGENERATE, NO_COMPONENT, NO_ELEMENT, VISIT, ValueId};
use crate::source::Span;
use crate::types::Scalar;

/// The longest text of one print on the host.
const PRINT_BUFFER: u64 = 4096;

const KIND: usize = offset_of!(HostStatus, kind);

/// What an index is one of.
#[derive(Clone, Copy)]
pub enum Indexed {
    Component,
    /// Those of a tile or a local array along a dimension.
    Element {
        dim: u32,
    },
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// Emits an internal function once; `body` builds its instructions.
    fn helper(&mut self, name: &str, params: &[Ty<'ctx>], body: impl FnOnce(&mut Self, Func<'ctx>)) -> Func<'ctx> {
        let ll = self.ll;
        self.function_once(name, None, params, |lower, function| {
            ll.add_attribute(function, AttributeLoc::Function, Attribute::Flag("cold"));
            body(lower, function);
        })
    }

    /// An internal function of this name that is called, never inlined. The body is made once for a
    /// module, with the cursor at its start.
    pub fn function_once(
        &mut self,
        name: &str,
        result: Option<Ty<'ctx>>,
        params: &[Ty<'ctx>],
        body: impl FnOnce(&mut Self, Func<'ctx>),
    ) -> Func<'ctx> {
        let ll = self.ll;
        let known = ll.function_has_body(name);
        let function = ll.declare(name, result, params, false);
        if !known {
            let here = ll.current_block();
            ll.set_internal(function);
            for flag in ["noinline", "nounwind"] {
                ll.add_attribute(function, AttributeLoc::Function, Attribute::Flag(flag));
            }
            let entry = ll.block(function, "entry");
            ll.position_at_end(entry);
            body(self, function);
            ll.position_at_end(here);
        }
        function
    }

    fn status_field(&self, status: Val<'ctx>, offset: usize) -> Val<'ctx> {
        self.ll.offset_by(status, offset as u64)
    }

    /// The running thread, for what records it: its number, or on the device its coordinates.
    fn thread_parts(&self) -> Scalars<'ctx> {
        match self.target {
            Target::Host { .. } => smallvec![self.reporting_thread()],
            Target::Nvptx { .. } => self.thread.coordinates.iter().copied().collect(),
        }
    }

    /// Calls a function that records something of the running thread: it takes the status, these
    /// values, and the thread last. `body` writes it: it is given the parameters.
    fn record(&mut self, name: &str, values: &[Val<'ctx>], body: impl FnOnce(&mut Self, Func<'ctx>, &[Val<'ctx>])) {
        let ll = self.ll;
        let mut all: Scalars = smallvec![self.thread.status];
        all.extend(values.iter().copied().chain(self.thread_parts()));
        let types: Vec<Ty> = all.iter().map(|value| ll.ty(*value)).collect();
        let function = self.helper(name, &types, |lower, function| {
            let params: Vec<Val> = (0..types.len()).map(|n| ll.param(function, n as u32)).collect();
            body(lower, function, &params);
        });
        ll.call_void(function, &all);
    }

    /// Sets a number of the status that was zero; if it was, writes what `fields` gives, and the
    /// thread at `thread`.
    fn claim(
        &mut self,
        function: Func<'ctx>,
        params: &[Val<'ctx>],
        (at, number): (usize, Val<'ctx>),
        fields: &[(usize, Val<'ctx>)],
        thread: usize,
    ) {
        let ll = self.ll;
        let status = params[0];
        let (_, first) = ll.atomic_cas(self.status_field(status, at), ll.const_i32(0), number, 4);
        let (record, done) = (ll.block(function, "record"), ll.block(function, "done"));
        ll.cond_br(first, record, done);
        ll.position_at_end(record);
        let parts = self.thread_parts().len();
        let own = params[params.len() - parts..].iter().enumerate().map(|(n, part)| (thread + 4 * n, *part));
        let fields: Vec<(usize, Val)> = fields.iter().copied().chain(own).collect();
        let write = |lower: &Self, status| {
            for &(offset, value) in &fields {
                ll.store(value, lower.status_field(status, offset), ll.bits(ll.ty(value)) / 8);
            }
        };
        write(self, status);
        if self.target.is_gpu() {
            let copy = ll.load(ll.i64(), self.status_field(status, offset_of!(DeviceStatus, copy)), 8);
            let there = ll.block(function, "copy");
            ll.cond_br(ll.icmp(IntPredicate::NE, copy, ll.const_i64(0)), there, done);
            ll.position_at_end(there);
            let copy = ll.int_to_ptr(copy, ll.ptr(0));
            write(self, copy);
            // Who reads the number reads what belongs to it.
            ll.effect_intrinsic("llvm.nvvm.membar.sys", &[]);
            ll.store(number, self.status_field(copy, at), 4);
        }
        ll.br(done);
        ll.position_at_end(done);
        ll.ret(None);
    }

    /// Records an access outside its array. `index` is i64, the others i32. The simulator sees such
    /// accesses itself, or was told by a [`Check::Element`](crate::ir::Check::Element) before.
    pub fn report_out_of_bounds(&mut self, site: Val<'ctx>, dim: Val<'ctx>, index: Val<'ctx>, extent: Val<'ctx>) {
        let kind = self.ll.const_i32(HostStatus::OUT_OF_BOUNDS as i32);
        self.record("kc_out_of_bounds", &[site, dim, index, extent], |lower, function, p| {
            let fields = [
                (offset_of!(HostStatus, site), p[1]),
                (offset_of!(HostStatus, dim), p[2]),
                (offset_of!(HostStatus, index), p[3]),
                (offset_of!(HostStatus, extent), p[4]),
            ];
            lower.claim(function, p, (KIND, kind), &fields, offset_of!(HostStatus, thread));
        });
    }

    /// Records an index of `count` components or elements that is none of them, in checked runs.
    pub fn check_index(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        index: ValueId,
        count: u32,
        of: Indexed,
        name: &str,
        span: Span,
    ) {
        if !self.target.reports_checks() {
            return;
        }
        let (ll, many) = (self.ll, i64::from(count));
        let fits = |low: i128, high: i128| low >= -i128::from(many) && high < i128::from(many);
        if frame.known.ranges.bounds_at(frame.at, index).is_some_and(|b| fits(b.interval.low, b.interval.high)) {
            return;
        }
        let s = frame.scalar_ty(index);
        let signed = s.is_signed_int();
        let written = self.ops.cast(s, if signed { Scalar::I64 } else { Scalar::U64 }, frame.scalar(index));
        // From `-many` to `many`, as one comparison.
        let within = match signed {
            true => ll.icmp(IntPredicate::ULT, ll.add(written, ll.const_i64(many)), ll.const_i64(2 * many)),
            false => ll.icmp(IntPredicate::ULT, written, ll.const_i64(many)),
        };
        let (failed, go_on) = (ll.block(self.into.function, "nocomponent"), ll.block(self.into.function, "component"));
        let bad = ll.lanes(within).is_some().then(|| self.narrowed(ll.not(within)));
        ll.likely_br(bad.map_or(within, |bad| ll.not(ll.any(bad))), go_on, failed);
        ll.position_at_end(failed);
        let first = bad.map_or(written, |bad| match ll.lanes(written) {
            Some(_) => ll.extract_lane(written, ll.first_lane(bad)),
            None => written,
        });
        match self.target {
            Target::Host { .. } | Target::Nvptx { checks: Checks::Recorded } => {
                let (kind, dim) = match of {
                    Indexed::Component => (SiteKind::Component, 0),
                    Indexed::Element { dim } => (SiteKind::Access, dim as i32),
                };
                let site = self.site(span, kind, name);
                let report = |lower: &mut Self| {
                    lower.report_out_of_bounds(site, ll.const_i32(dim), first, ll.const_i32(count as i32));
                };
                match bad {
                    Some(_) => self.with_mask(bad, report),
                    None => report(self),
                }
            }
            Target::Nvptx { .. } => {
                let (name, count) = (self.text(name), ll.const_i32(count as i32));
                let (callee, args): (_, &[Val]) = match of {
                    Indexed::Component => (NO_COMPONENT, &[name, first, count]),
                    Indexed::Element { dim } => (NO_ELEMENT, &[name, ll.const_i32(dim as i32), first, count]),
                };
                let types: Vec<_> = args.iter().map(|&arg| ll.ty(arg)).collect();
                ll.call_void(ll.declare(callee, None, &types, false), args);
            }
        }
        ll.br(go_on);
        ll.position_at_end(go_on);
    }

    /// Records that a gradient is near-degenerate here, in checked runs.
    pub fn note_degenerate(&mut self, holds: Val<'ctx>, why: &str, span: Span) {
        self.noted(holds, |lower, here| match lower.target {
            Target::Host { .. } | Target::Nvptx { checks: Checks::Recorded } => {
                let site = lower.site(span, SiteKind::Degenerate, why);
                match here {
                    Some(_) => lower.with_mask(here, |lower| lower.report_note(site)),
                    None => lower.report_note(site),
                }
            }
            Target::Nvptx { .. } => {
                let function = lower.ll.declare(DEGENERATE, None, &[lower.ll.ptr(0)], false);
                lower.ll.call_void(function, &[lower.text(why)]);
            }
        });
    }

    /// Records that this is such a point for any adjoint but 0.
    pub fn note_visit(&mut self, holds: Val<'ctx>, span: Span) {
        // It would take another run of the launch, beside the point.
        if self.target == (Target::Nvptx { checks: Checks::Recorded }) {
            return;
        }
        self.noted(holds, |lower, _| match lower.target {
            Target::Host { .. } => lower.report_visit(span),
            Target::Nvptx { .. } => {
                let function = lower.ll.declare(VISIT, None, &[lower.ll.ptr(0)], false);
                lower.ll.call_void(function, &[lower.text("")]);
            }
        });
    }

    /// Does something where a test holds, in checked runs: for these lanes, where there are
    /// several.
    fn noted(&mut self, holds: Val<'ctx>, note: impl FnOnce(&mut Self, Option<Val<'ctx>>)) {
        if !self.target.reports_checks() {
            return;
        }
        let ll = self.ll;
        let here = ll.lanes(holds).is_some().then(|| self.narrowed(holds));
        let (noted, go_on) = (ll.block(self.into.function, "noted"), ll.block(self.into.function, "plain"));
        ll.likely_br(here.map_or(ll.not(holds), |here| ll.not(ll.any(here))), go_on, noted);
        ll.position_at_end(noted);
        note(self, here);
        ll.br(go_on);
        ll.position_at_end(go_on);
    }

    fn report_visit(&mut self, span: Span) {
        let ll = self.ll;
        let site = self.site(span, SiteKind::Degenerate, "");
        let function = self.helper("kc_visited", &[ll.ptr(0), ll.i32()], |lower, function| {
            let at = lower.status_field(ll.param(function, 0), offset_of!(HostStatus, visited));
            let number = ll.add(ll.param(function, 1), ll.const_i32(1));
            // Whose number it is does not matter, but two workers must not write it at once.
            ll.atomic_cas(at, ll.const_i32(0), number, 4);
            ll.ret(None);
        });
        ll.call_void(function, &[self.thread.status, site]);
    }

    fn report_note(&mut self, site: Val<'ctx>) {
        let ll = self.ll;
        let (note, thread) = match self.target {
            Target::Host { .. } => (offset_of!(HostStatus, note), offset_of!(HostStatus, note_thread)),
            Target::Nvptx { .. } => (offset_of!(DeviceStatus, note), offset_of!(DeviceStatus, note_thread)),
        };
        self.record("kc_note", &[site], |lower, function, p| {
            let number = ll.add(p[1], ll.const_i32(1));
            lower.claim(function, p, (note, number), &[], thread);
        });
    }

    pub fn assert(&mut self, condition: Val<'ctx>, message: &str, span: Span) {
        let ll = self.ll;
        if ll.lanes(condition).is_some() {
            return self.assert_lanes(condition, message, span);
        }
        let site = self.target.is_checked_or_host().then(|| self.site(span, SiteKind::Assert, message));
        let (failed, go_on) = (ll.block(self.into.function, "failed"), ll.block(self.into.function, "asserted"));
        ll.likely_br(condition, go_on, failed);
        ll.position_at_end(failed);
        match site {
            Some(site) => {
                let kind = ll.const_i32(HostStatus::ASSERT as i32);
                self.record("kc_assert_failed", &[site], |lower, function, p| {
                    let fields = [(offset_of!(HostStatus, site), p[1])];
                    lower.claim(function, p, (KIND, kind), &fields, offset_of!(HostStatus, thread));
                });
            }
            None => {
                let params = [ll.ptr(0), ll.ptr(0), ll.i32(), ll.ptr(0), ll.i64()];
                let function = ll.declare("__assertfail", None, &params, false);
                let (message, unknown) = (self.text(message), self.text("kernel"));
                ll.call_void(function, &[message, unknown, ll.const_i32(0), unknown, ll.const_i64(1)]);
            }
        }
        ll.br(go_on);
        ll.position_at_end(go_on);
    }

    pub fn print(&mut self, frame: &Frame<'a, 'ctx>, format: &str, args: &[ValueId]) {
        if let Some(prints) = self.state.prints {
            let wanted = Print::of(frame.function, format, args);
            let number = prints.iter().position(|print| *print == wanted).unwrap_or(prints.len());
            return self.write_down(frame, number as u64, args);
        }
        let types: Vec<Scalar> = args.iter().map(|a| frame.scalar_ty(*a)).collect();
        let (format, wanted) = print_format::normalise(format, &types);
        let values: Vec<Val> =
            wanted.iter().map(|w| self.print_argument(frame.scalar(args[w.arg]), types[w.arg], *w)).collect();
        match self.target {
            Target::Host { .. } => self.host_print(&format, &values),
            Target::Nvptx { .. } => self.device_print(&format, &values),
        }
    }

    /// Converts a scalar to what its conversion reads: i64, i32, double or a text.
    fn print_argument(&self, value: Val<'ctx>, s: Scalar, wanted: Wanted) -> Val<'ctx> {
        let (ll, ops) = (self.ll, self.ops);
        let signed = if s.size() == 8 { Scalar::I64 } else { Scalar::I32 };
        match wanted.kind {
            ReadAs::Signed => ops.cast(signed, Scalar::I64, ops.cast(s, signed, value)),
            ReadAs::Unsigned => {
                let bits = ops.cast(s, signed, value);
                if signed == Scalar::I64 { bits } else { ll.zext(bits, ll.i64()) }
            }
            ReadAs::Character => ll.zext(ops.cast(s, Scalar::U8, value), ll.i32()),
            ReadAs::Width => ops.cast(s, Scalar::I32, value),
            ReadAs::Double => ops.cast(s, Scalar::F64, value),
            ReadAs::Truth => ll.select(value, self.text("True"), self.text("False")),
        }
    }

    /// A text in constant memory.
    pub fn text(&self, text: &str) -> Val<'ctx> {
        match self.target {
            Target::Host { .. } => self.ll.text(text),
            // The driver reads it in global memory, by its generic address.
            Target::Nvptx { .. } => self.ll.text_in(text, 1),
        }
    }

    fn host_print(&mut self, format: &str, values: &[Val<'ctx>]) {
        let ll = self.ll;
        let entry = self.into.entry;
        let buffer = *self.into.print_buffer.get_or_insert_with(|| ll.alloca(entry, PRINT_BUFFER, 1));
        let snprintf = ll.declare("snprintf", Some(ll.i32()), &[ll.ptr(0), ll.i64(), ll.ptr(0)], true);
        let mut call = vec![buffer, ll.const_i64(PRINT_BUFFER as i64), self.text(format)];
        call.extend(values);
        let length = ll.call(snprintf, &call);
        // Longer texts are cut; a negative length is an encoding error.
        let longest = ll.const_i32(PRINT_BUFFER as i32 - 1);
        let length = ll.intrinsic("llvm.smin", &[ll.i32()], &[length, longest]);
        let length = ll.intrinsic("llvm.smax", &[ll.i32()], &[length, ll.const_i32(0)]);
        let function = self.helper("kc_print", &[ll.ptr(0), ll.ptr(0), ll.i32()], |lower, function| {
            let p = |n| ll.param(function, n);
            let (status, text, length) = (p(0), p(1), p(2));
            let callback = ll.load(ll.ptr(0), lower.status_field(status, offset_of!(HostStatus, print)), 8);
            let (to_callback, to_stdout) = (ll.block(function, "callback"), ll.block(function, "stdout"));
            let address = ll.ptr_to_int(callback, ll.i64());
            ll.cond_br(ll.icmp(IntPredicate::NE, address, ll.const_i64(0)), to_callback, to_stdout);
            ll.position_at_end(to_callback);
            let user = ll.load(ll.ptr(0), lower.status_field(status, offset_of!(HostStatus, user)), 8);
            let args = [user, text, ll.zext(length, ll.i64())];
            ll.call_pointer_void(callback, &[ll.ptr(0), ll.ptr(0), ll.i64()], &args);
            ll.ret(None);
            ll.position_at_end(to_stdout);
            let printf = ll.declare("printf", Some(ll.i32()), &[ll.ptr(0)], true);
            ll.call_void(printf, &[ll.text("%.*s"), length, text]);
            ll.ret(None);
        });
        ll.call_void(function, &[self.thread.status, buffer, length]);
    }

    /// Writes the number of a print and the bits of its arguments to the ring of the module
    /// ([`PrintRing`]).
    fn write_down(&mut self, frame: &Frame<'a, 'ctx>, number: u64, args: &[ValueId]) {
        let ll = self.ll;
        let (int, wide, pointer) = (ll.i64(), |n: u64| ll.const_i64(n as i64), ll.ptr(0));
        let told = ll.shared_bytes(DEVICE_PRINTS, 16);
        let count = wide(1 + args.len() as u64);
        let ring = ll.int_to_ptr(ll.load(int, told, 8), pointer);
        let begin = self.function_once("kc_print_begin", Some(int), &[pointer, int], |lower, function| {
            lower.print_begin(function);
        });
        let put = self.function_once("kc_print_word", None, &[pointer, int, int], |_, function| {
            let p = |n| ll.param(function, n);
            let place = ll.and(p(1), wide(PRINT_WORDS - 1));
            let at = ll.offset(ll.offset_by(p(0), offset_of!(PrintRing, words) as u64), ll.mul(place, wide(8)));
            ll.store(p(2), at, 8);
            ll.ret(None);
        });
        let first = ll.call(begin, &[ring, count]);
        let room = ll.icmp(IntPredicate::NE, first, ll.const_i64(-1));
        self.when(Some(room), |lower| {
            for (&arg, n) in args.iter().zip(1..) {
                let bits = lower.ops.to_bits(frame.scalar_ty(arg), frame.scalar(arg));
                let bits = if ll.ty(bits) == int { bits } else { ll.zext(bits, int) };
                ll.call_void(put, &[ring, ll.add(first, wide(n)), bits]);
            }
            let base = ll.load(int, ll.offset_by(told, 8), 8);
            let name = ll.shl(ll.add(base, wide(number + 1)), wide(32));
            // Who reads the first word reads the others.
            ll.effect_intrinsic("llvm.nvvm.membar.sys", &[]);
            ll.call_void(put, &[ring, first, ll.or(name, count)]);
            Scalars::new()
        });
    }

    /// Takes so many words of a ring; gives the number of the first, or -1 where there is no room.
    fn print_begin(&mut self, function: Func<'ctx>) {
        let ll = self.ll;
        let (int, ring, count) = (ll.i64(), ll.param(function, 0), ll.param(function, 1));
        let field = |offset: usize| ll.offset_by(ring, offset as u64);
        let (head_at, tail_at) = (field(offset_of!(PrintRing, head)), field(offset_of!(PrintRing, tail)));
        let [ask, take, full, done] = ["ask", "take", "full", "done"].map(|name| ll.block(function, name));
        ll.br(ask);
        ll.position_at_end(ask);
        let (head, tail) = (ll.load_atomic(int, head_at, 8), ll.load_atomic(int, tail_at, 8));
        let end = ll.add(head, count);
        let fits = ll.icmp(IntPredicate::ULE, ll.sub(end, tail), ll.const_i64(PRINT_WORDS as i64));
        ll.cond_br(fits, take, full);
        ll.position_at_end(take);
        let (_, taken) = ll.atomic_cas(head_at, head, end, 8);
        ll.cond_br(taken, done, ask);
        ll.position_at_end(full);
        ll.atomic_rmw(AtomicRMWBinOp::Add, field(offset_of!(PrintRing, lost)), ll.const_i64(1), 8);
        ll.ret(Some(ll.const_i64(-1)));
        ll.position_at_end(done);
        ll.ret(Some(head));
    }

    /// `vprintf` reads its arguments from a buffer, each at its natural alignment.
    fn device_print(&mut self, format: &str, values: &[Val<'ctx>]) {
        let ll = self.ll;
        let mut size = 0u64;
        let mut places = Vec::new();
        for value in values {
            let bytes = if ll.ty(*value) == ll.i32() { 4 } else { 8u64 };
            size = size.next_multiple_of(bytes);
            places.push((size, bytes as u32));
            size += bytes;
        }
        let buffer = ll.alloca(self.into.entry, size, 8);
        for (value, (offset, align)) in values.iter().zip(places) {
            ll.store(*value, ll.offset_by(buffer, offset), align);
        }
        let vprintf = ll.declare("vprintf", Some(ll.i32()), &[ll.ptr(0), ll.ptr(0)], false);
        ll.call_void(vprintf, &[self.text(format), buffer]);
    }
}
