//! The record of a page whose accesses are two ranges: one that was read, and one that was written.
//!
//! Most pages are read or written from one end to the other. Their records need no word for each 64 bytes.

use super::{Page, READ, Spare, UPDATED, WRITTEN};

/// The record of a page: two ranges, or words.
#[derive(Clone, Default)]
pub(super) struct Slot {
    pub page: Option<Box<Page>>,
    spans: Spans,
}

/// Offsets in a page: the first byte, and the one behind the last. Both are zero if there is none.
pub(super) type Span = (u16, u16);

/// Weak accesses of a launch without releases and acquires. No byte was read after it had been written.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Spans {
    pub read: Span,
    pub written: Span,
}

impl Spans {
    /// The bytes that were read, and written after that.
    pub(super) fn updated(&self) -> Span {
        let (start, end) = (self.read.0.max(self.written.0), self.read.1.min(self.written.1));
        if start < end { (start, end) } else { (0, 0) }
    }

    /// Adds an access of the bytes from one offset to another. Returns `false` if two ranges cannot tell it.
    #[inline(always)]
    fn add(&mut self, start: u16, end: u16, written: bool) -> bool {
        let overlaps = start < self.written.1 && self.written.0 < end;
        let span = if written { &mut self.written } else { &mut self.read };
        let fits = *span == (0, 0) || start <= span.1 && span.0 <= end;
        if !fits || overlaps && !written {
            return false;
        }
        *span = if *span == (0, 0) { (start, end) } else { (span.0.min(start), span.1.max(end)) };
        true
    }
}

impl Slot {
    /// The two ranges, if these are the record.
    pub(super) fn spans(&self) -> Option<Spans> {
        (self.page.is_none() && self.spans != Spans::default()).then_some(self.spans)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.page.is_none() && self.spans == Spans::default()
    }

    /// Adds a plain access, as [`Page::note_weak`] does, if the record stays two ranges.
    #[inline(always)]
    pub(super) fn note(&mut self, start: u64, end: u64, written: bool) -> bool {
        self.page.is_none() && self.spans.add(start as u16, end as u16, written)
    }

    /// The record in words, which may be new.
    #[inline(always)]
    pub(super) fn words(&mut self, spare: &mut Spare) -> &mut Page {
        match &mut self.page {
            Some(page) => page,
            // `get_or_insert_with` is a call.
            none => {
                let page = none.insert(Page::new(spare));
                let Spans { read, written } = std::mem::take(&mut self.spans);
                for (kind, (start, end)) in [(READ, read), (UPDATED, read), (WRITTEN, written)] {
                    page.set(kind, start, end);
                }
                page
            }
        }
    }
}

impl Page {
    fn set(&mut self, kind: usize, start: u16, end: u16) {
        let mut at = u64::from(start);
        while at < u64::from(end) {
            let stop = u64::from(end).min(at / 64 * 64 + 64);
            let ones = u64::MAX >> (64 - (stop - at)) << (at % 64);
            self.words[(at / 64) as usize][kind] |= ones;
            at = stop;
        }
    }
}
