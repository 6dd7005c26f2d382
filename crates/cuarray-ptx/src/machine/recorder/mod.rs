//! The recorded accesses of a launch: one bit for each byte and kind of access, in pages that exist once they are accessed.
//!
//! So the cost is bounded by the accessed memory, and not by the number of accesses.
//!
//! Reads before writes are known among blocks that run in one host thread. Kernels whose blocks can observe each other
//! run in one; other blocks that read each other's writes have a race.

mod compact;
mod joined;
mod ranges;

use super::region::{AccessKind, Region, Strength};
use super::touched_range::TouchedRange;
use compact::Slot;
use joined::Joined;
use ranges::ranges;
use std::mem::take;
use std::sync::{Mutex, PoisonError};

/// Bytes of a page.
const PAGE: u64 = 4096;
const WORDS: usize = PAGE as usize / 64;

/// A bit for each byte of a page.
type Plane = [u64; WORDS];

/// The accesses to a page.
#[derive(Clone)]
struct Page {
    /// A bit for each byte of a word: weak reads, weak writes, reads before a write of any strength, and the bytes that nothing had written before
    /// the launch. An access needs all four, so they lie together.
    words: [[u64; 4]; WORDS],
    /// Whether the bytes that nothing had written are known. Before, any may be one.
    knows_unwritten: bool,
    /// Reads and writes with the strength of the device, and with the strength of the system.
    strong: Option<Box<[Plane; 4]>>,
    /// The place of the accesses among releases and acquires, for kernels that have these.
    placed: Option<Box<Placed>>,
}

/// The bits of a word of a page.
const READ: usize = 0;
const WRITTEN: usize = 1;
const UPDATED: usize = 2;
const UNWRITTEN: usize = 3;

/// The place of a page's accesses in the launch: planes of weak reads, weak writes, strong reads and strong writes.
#[derive(Clone)]
struct Placed {
    /// Accesses before the first acquire.
    early: [Plane; 4],
    /// Accesses since the last fence.
    late: [Plane; 4],
    /// Accesses before a fence that no strong write has followed yet.
    fenced: [Plane; 4],
}

impl Placed {
    const NONE: Placed = Placed { early: [[0; WORDS]; 4], late: [[0; WORDS]; 4], fenced: [[0; WORDS]; 4] };

    fn merge(&mut self, other: &Placed) {
        let pairs = [(&mut self.early, &other.early), (&mut self.late, &other.late), (&mut self.fenced, &other.fenced)];
        for (own, other) in pairs {
            let words = own.iter_mut().flatten().zip(other.iter().flatten());
            words.for_each(|(word, other)| *word |= other);
        }
    }
}

/// The releases and acquires of a launch for other launches and the host, in the order of execution.
///
/// The order of threads is coarser here than in the search within a launch: a release of any thread releases all earlier
/// accesses, and an acquire of any thread orders all later ones. So this finds no false race, and misses those of a thread
/// whose fence another one executed.
#[derive(Default)]
pub(crate) struct Ordering {
    /// The widest fence so far that releases.
    fence: Strength,
    /// The widest strong read so far.
    heard: Strength,
    /// The widest release: a fence, or a releasing write, with its strong write.
    pub releases: Strength,
    /// The widest acquire: a strong read with its fence, or an acquiring read.
    pub acquires: Strength,
    /// The pages with accesses since the last fence, and those with fenced accesses: before the wait, region, page.
    late: Vec<(bool, usize, usize)>,
    fenced: Vec<(bool, usize, usize)>,
}

#[allow(clippy::vec_box, reason = "a region takes the box")]
type Spare = Vec<Box<Page>>;

/// Pages of ended launches. The system clears each page of memory that it hands out, which took a tenth of the time of a short launch.
static SPARE: Mutex<Spare> = Mutex::new(Vec::new());
/// The most pages that are kept: 16 MiB, which record 32 MiB of memory.
const SPARE_PAGES: usize = 8192;
/// The most pages that a recorder takes from the kept ones at once.
const TAKEN: usize = 64;

impl Page {
    const EMPTY: Page =
        Page { words: [[0, 0, 0, u64::MAX]; WORDS], knows_unwritten: false, strong: None, placed: None };

    /// Returns an empty page, in the memory of a spare one if there is one.
    fn new(spare: &mut Spare) -> Box<Page> {
        if spare.is_empty() {
            let mut kept = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
            let rest = kept.len().saturating_sub(TAKEN);
            spare.extend(kept.drain(rest..));
        }
        let Some(mut page) = spare.pop() else { return Box::new(Page::EMPTY) };
        *page = Page::EMPTY;
        page
    }

    /// The bytes of a word whose accesses have the place of `like` among releases and acquires.
    fn placed_as(&self, like: &TouchedRange, word: usize) -> u64 {
        let plane = usize::from(like.strength != Strength::Weak) * 2 + usize::from(like.kind == AccessKind::Write);
        let (released, acquired) = self.placed.as_ref().map_or((0, 0), |placed| {
            (!(placed.late[plane][word] | placed.fenced[plane][word]), !placed.early[plane][word])
        });
        let of = |bytes: u64, wanted: bool| if wanted { bytes } else { !bytes };
        of(released, like.released) & of(acquired, like.acquired)
    }

    /// Records a weak access, of a launch without releases and acquires, to the bytes from one offset in the page to another. Returns
    /// whether it may read bytes that nothing has written.
    #[inline(always)]
    fn note_weak(&mut self, start: u64, end: u64, written: bool) -> bool {
        let mut meets = false;
        let (first, last) = ((start / 64) as usize, ((end - 1) / 64) as usize);
        let mut ones = u64::MAX << (start % 64);
        for word in first..=last.min(WORDS - 1) {
            if word == last {
                ones &= u64::MAX >> (63 - (end - 1) % 64);
            }
            meets |= self.note_word(word, ones, written);
            ones = u64::MAX;
        }
        meets
    }

    /// As [`Page::note_weak`], for bytes of one word as bits.
    #[inline(always)]
    fn note_word(&mut self, word: usize, ones: u64, written: bool) -> bool {
        if written {
            self.words[word][WRITTEN] |= ones;
            return false;
        }
        let fresh = ones & !self.written(word);
        let bits = &mut self.words[word];
        bits[UPDATED] |= fresh;
        bits[READ] |= ones;
        bits[UNWRITTEN] & fresh != 0
    }

    /// The bytes of a word that any access has written.
    #[inline(always)]
    fn written(&self, word: usize) -> u64 {
        let strong = self.strong.as_ref().map_or(0, |strong| strong[1][word] | strong[3][word]);
        self.words[word][WRITTEN] | strong
    }

    /// The bytes of a word that nothing has written, before the launch or in it, among some. All may be, if that is not known.
    #[inline(always)]
    fn unwritten(&self, word: usize, ones: u64) -> u64 {
        self.words[word][UNWRITTEN] & ones & !self.written(word)
    }

    /// Notes what nothing had written before the launch, as offsets in the page.
    fn note_unwritten(&mut self, ranges: impl Iterator<Item = (u64, u64)>) {
        self.knows_unwritten = true;
        self.words.iter_mut().for_each(|bits| bits[UNWRITTEN] = 0);
        ranges
            .flat_map(|(start, end)| start..end)
            .for_each(|at| self.words[(at / 64) as usize][UNWRITTEN] |= 1 << (at % 64));
    }

    fn forget_unwritten(&mut self) {
        self.knows_unwritten = false;
        self.words.iter_mut().for_each(|bits| bits[UNWRITTEN] = u64::MAX);
    }
}

/// The accesses of a launch by region and page.
#[derive(Default)]
pub(crate) struct Recorder {
    pub enabled: bool,
    /// Whether the running instruction has read what it writes.
    pub updates: bool,
    /// Whether the running instruction is an atomic operation with a result.
    pub returns: bool,
    /// The strength of the running instruction.
    pub strength: Strength,
    /// Whether the running threads have not waited for the prerequisite grids.
    pub before_wait: bool,
    /// Whether reads of bytes that nothing has written are looked for. Only the bytes of one address are known then, and threads that
    /// have waited for other grids are not apart.
    pub follows: bool,
    regions: Vec<Pages>,
    /// The accesses before the wait for the prerequisite grids.
    early: Vec<Pages>,
    /// The releases and acquires so far, if the kernel has instructions for them.
    pub ordering: Option<Box<Ordering>>,
    /// Pages for further records.
    spare: Spare,
    /// Weak accesses that are not in the pages yet.
    joined: Joined,
}

/// The pages of a region that were accessed.
type Pages = Vec<Slot>;

/// The record of the page with a number.
#[inline(always)]
fn slot(pages: &mut Pages, number: usize) -> &mut Slot {
    if pages.len() <= number {
        pages.resize_with(number + 1, Slot::default);
    }
    &mut pages[number]
}

impl Recorder {
    pub(crate) fn new(enabled: bool, regions: usize) -> Recorder {
        let pages = || (0..if enabled { regions } else { 0 }).map(|_| Vec::new()).collect();
        Recorder {
            enabled,
            updates: false,
            returns: false,
            strength: Strength::Weak,
            before_wait: false,
            follows: false,
            regions: pages(),
            early: pages(),
            ordering: None,
            spare: Vec::new(),
            joined: Joined::default(),
        }
    }

    /// This recorder, which also records releases and acquires if `ordered` is set.
    pub(crate) fn ordered(mut self, ordered: bool) -> Recorder {
        self.ordering = ordered.then(Box::default);
        self
    }

    /// This recorder, which also looks for reads of unwritten bytes if `follows` is set.
    pub(crate) fn following(mut self, follows: bool) -> Recorder {
        self.follows = follows && self.enabled;
        self
    }

    /// The widest release and acquire of the launch.
    pub(crate) fn handed_over(&self) -> [Strength; 2] {
        self.ordering.as_ref().map_or([Strength::Weak; 2], |ordering| [ordering.releases, ordering.acquires])
    }

    /// Records a strong access of the running instruction, before its bytes.
    pub(crate) fn note_strong(&mut self, reads: bool, writes: bool, (releases, acquires): (bool, bool)) {
        let strength = self.strength;
        if writes {
            if releases {
                self.note_fence(strength, true, false);
            }
            self.note_strong_write(strength);
        }
        if let Some(ordering) = self.ordering.as_mut().filter(|_| reads) {
            ordering.heard = ordering.heard.max(strength);
            if acquires {
                ordering.acquires = ordering.acquires.max(strength);
            }
        }
    }

    /// Records a fence of a strength.
    pub(crate) fn note_fence(&mut self, strength: Strength, releases: bool, acquires: bool) {
        let Some(ordering) = self.ordering.as_mut().filter(|_| strength != Strength::Weak) else { return };
        if acquires {
            ordering.acquires = ordering.acquires.max(ordering.heard.min(strength));
        }
        if !releases {
            return;
        }
        ordering.fence = ordering.fence.max(strength);
        let late = std::mem::take(&mut ordering.late);
        for at in late {
            let Some(placed) = self.placed_at(at) else { continue };
            for (fenced, late) in placed.fenced.iter_mut().flatten().zip(placed.late.iter_mut().flatten()) {
                *fenced |= std::mem::take(late);
            }
            if let Some(ordering) = self.ordering.as_mut() {
                ordering.fenced.push(at);
            }
        }
    }

    /// Records a strong write, which releases the accesses before the last fence.
    fn note_strong_write(&mut self, strength: Strength) {
        let Some(ordering) = self.ordering.as_mut().filter(|ordering| ordering.fence != Strength::Weak) else { return };
        ordering.releases = ordering.releases.max(ordering.fence.min(strength));
        for at in std::mem::take(&mut ordering.fenced) {
            if let Some(placed) = self.placed_at(at) {
                placed.fenced = [[0; WORDS]; 4];
            }
        }
    }

    fn placed_at(&mut self, (before_wait, region, page): (bool, usize, usize)) -> Option<&mut Placed> {
        let regions = if before_wait { &mut self.early } else { &mut self.regions };
        regions.get_mut(region)?.get_mut(page)?.page.as_mut()?.placed.as_deref_mut()
    }

    /// Whether the running instruction reads or writes only, and its place among releases and acquires is not recorded.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.strength == Strength::Weak && self.ordering.is_none() && !self.updates
    }

    /// Records an access to a region. Returns whether it may read bytes that nothing has written.
    pub(crate) fn note(&mut self, region: usize, offset: u64, size: u64, written: bool) -> bool {
        let plain = self.is_plain();
        let regions = if self.before_wait { &mut self.early } else { &mut self.regions };
        let Some(pages) = regions.get_mut(region) else { return false };
        let mut meets = false;
        let (mut at, end) = (offset, offset + size);
        while at < end {
            let number = (at / PAGE) as usize;
            let slot = slot(pages, number);
            let stop = end.min(at - at % PAGE + PAGE);
            if plain && slot.note(at % PAGE, at % PAGE + (stop - at), written) {
                // Nothing tells here whether the bytes were written before.
                meets |= !written;
                at = stop;
                continue;
            }
            let page = slot.words(&mut self.spare);
            if let Some(ordering) = self.ordering.as_mut() {
                let place = (self.before_wait, region, number);
                if ordering.late.last() != Some(&place) {
                    ordering.late.push(place);
                }
                page.placed.get_or_insert_with(|| Box::new(Placed::NONE));
            }
            if plain {
                meets |= page.note_weak(at % PAGE, at % PAGE + (stop - at), written);
                at = stop;
                continue;
            }
            while at < stop {
                let bit = at % 64;
                let bits = (64 - bit).min(stop - at);
                let ones = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
                let (word, ones) = ((at % PAGE / 64) as usize, ones << bit);
                if !written || self.updates {
                    let fresh = ones & !page.written(word);
                    meets |= page.words[word][UNWRITTEN] & fresh != 0;
                    page.words[word][UPDATED] |= fresh;
                }
                if let (Some(placed), Some(ordering)) = (page.placed.as_mut(), self.ordering.as_ref()) {
                    let plane = usize::from(self.strength != Strength::Weak) * 2 + usize::from(written);
                    placed.late[plane][word] |= ones;
                    if ordering.acquires == Strength::Weak {
                        placed.early[plane][word] |= ones;
                    }
                }
                match self.strength {
                    Strength::Weak => page.words[word][usize::from(written)] |= ones,
                    strong => {
                        let planes = page.strong.get_or_insert_with(|| Box::new([[0; WORDS]; 4]));
                        let system = usize::from(strong == Strength::System);
                        planes[system * 2 + usize::from(written)][word] |= ones;
                    }
                }
                at += bits;
            }
        }
        meets && self.follows
    }

    /// As [`Recorder::note`], for elements at several offsets, each of so many bytes.
    #[inline(always)]
    pub(crate) fn note_each(
        &mut self,
        region: usize,
        offsets: impl Iterator<Item = u64> + Clone,
        size: u64,
        written: bool,
    ) -> bool {
        let plain = self.is_plain() && !self.before_wait;
        let in_words = offsets.clone().fold(plain, |all, offset| all & (1..=64 - offset % 64).contains(&size));
        if !in_words {
            return offsets.fold(false, |meets, offset| meets | self.note(region, offset, size, written));
        }
        let Some(pages) = self.regions.get_mut(region) else { return false };
        let (mut meets, mut known, ones) = (false, None, u64::MAX >> (64 - size));
        for offset in offsets {
            let number = (offset / PAGE) as usize;
            let noted = match known.take() {
                Some((same, noted)) if same == number => noted,
                _ => slot(pages, number).words(&mut self.spare),
            };
            meets |= noted.note_word((offset % PAGE / 64) as usize, ones << (offset % 64), written);
            known = Some((number, noted));
        }
        meets && self.follows
    }

    /// As [`Recorder::note`], for 32 elements of a size at a distance of `step` bytes. Reads find written memory.
    #[cfg_attr(not(any(target_arch = "x86_64", test)), expect(dead_code, reason = "only code for AVX2 uses it"))]
    pub(crate) fn note_strided(&mut self, region: usize, offset: u64, (size, step): (u32, u32), written: bool) {
        let (size, step) = (u64::from(size), u64::from(step));
        let plain = self.is_plain() && !self.before_wait;
        let repeats = 64 % step == 0 && offset % step + size <= step;
        let Some(pages) = self.regions.get_mut(region).filter(|_| plain && repeats) else {
            self.note_each(region, (0..32).map(|lane| offset + lane * step), size, written);
            return;
        };
        let element = u64::MAX >> (64 - size) << (offset % step);
        let all = (0..64 / step).fold(0, |all, index| all | element << (index * step));
        let (end, mut at) = (offset + 31 * step + size, offset / 64 * 64);
        while at < end {
            let page = slot(pages, (at / PAGE) as usize).words(&mut self.spare);
            let stop = end.min(at - at % PAGE + PAGE);
            while at < stop {
                let before = u64::MAX << offset.saturating_sub(at);
                let behind = u64::MAX >> (at + 64).saturating_sub(end);
                page.note_word((at % PAGE / 64) as usize, all & before & behind, written);
                at += 64;
            }
        }
    }

    /// The bytes, as bits, of up to 8 bytes of one word of a region that nothing has written, before the launch or in it. `ask` returns
    /// the ranges of offsets among others that nothing had written before the launch.
    #[cold]
    pub(crate) fn unwritten(
        &mut self,
        region: usize,
        (offset, size): (u64, u32),
        ask: impl Fn(u64, u64) -> Vec<(u64, u64)>,
    ) -> u64 {
        let Some(pages) = self.regions.get_mut(region) else { return 0 };
        let number = (offset / PAGE) as usize;
        let page = slot(pages, number).words(&mut self.spare);
        if !page.knows_unwritten {
            let base = number as u64 * PAGE;
            let within = |at: u64| at.clamp(base, base + PAGE) - base;
            page.note_unwritten(ask(base, base + PAGE).into_iter().map(|(start, end)| (within(start), within(end))));
        }
        let (word, bit) = ((offset % PAGE / 64) as usize, offset % 64);
        page.unwritten(word, u64::MAX) >> bit & ((1 << size) - 1)
    }

    /// Asks anew what nothing has written among these offsets, because the launch has allocated them.
    pub(crate) fn forget_unwritten(&mut self, region: usize, (start, end): (u64, u64)) {
        let Some(pages) = self.regions.get_mut(region) else { return };
        let pages = pages.iter_mut().take(end.div_ceil(PAGE) as usize).skip((start / PAGE) as usize);
        pages.filter_map(|slot| slot.page.as_mut()).for_each(|page| page.forget_unwritten());
    }

    /// Whether the launch has written these bytes, which lie in one word, or nothing is known to be unwritten in their page.
    pub(crate) fn is_written(&self, region: usize, offset: u64, size: u32) -> bool {
        let Some(slot) = self.regions.get(region).and_then(|pages| pages.get((offset / PAGE) as usize)) else {
            return false;
        };
        if let Some(spans) = slot.spans() {
            let (start, end) = spans.written;
            return u64::from(start) <= offset % PAGE && offset % PAGE + u64::from(size) <= u64::from(end);
        }
        let page = slot.page.as_deref();
        let (word, bit) = ((offset % PAGE / 64) as usize, offset % 64);
        page.is_some_and(|page| page.unwritten(word, (u64::MAX >> (64 - size.min(64))) << bit) == 0)
    }

    /// Whether the bytes of an element, which lie in one word, have an update of the running strength. A further one changes nothing, if its place
    /// among releases and acquires is not recorded.
    #[inline(always)]
    pub(crate) fn has_update(&self, region: usize, offset: u64, size: u64) -> bool {
        let number = (offset / PAGE) as usize;
        let page = self.regions.get(region).and_then(|pages| pages.get(number)?.page.as_deref());
        let Some(page) = page.filter(|_| self.ordering.is_none() && !self.before_wait) else { return false };
        let (word, ones) = ((offset % PAGE / 64) as usize, u64::MAX >> (64 - size) << (offset % 64));
        let written = match (self.strength, &page.strong) {
            (Strength::Weak, _) => page.words[word][WRITTEN],
            (strong, Some(planes)) => planes[usize::from(strong == Strength::System) * 2 + 1][word],
            (_, None) => 0,
        };
        ones & !written == 0
    }

    /// Merges the accesses that another core has recorded.
    pub(crate) fn merge(&mut self, mut other: Recorder) {
        if let (Some(own), Some(other)) = (self.ordering.as_mut(), other.ordering.as_ref()) {
            own.releases = own.releases.max(other.releases);
            own.acquires = own.acquires.max(other.acquires);
        }
        let own = self.regions.iter_mut().chain(&mut self.early);
        for (pages, others) in own.zip(other.regions.iter_mut().chain(&mut other.early)) {
            if pages.len() < others.len() {
                pages.resize_with(others.len(), Slot::default);
            }
            for (slot, others) in pages.iter_mut().zip(others) {
                if others.is_empty() {
                    continue;
                }
                if slot.is_empty() {
                    *slot = take(others);
                    continue;
                }
                let (page, other) = (slot.words(&mut self.spare), others.words(&mut other.spare));
                if let (Some(own), Some(other)) = (page.placed.as_mut(), other.placed.as_ref()) {
                    own.merge(other);
                }
                for (own, other) in page.words.iter_mut().zip(&other.words) {
                    [READ, WRITTEN, UPDATED].into_iter().for_each(|kind| own[kind] |= other[kind]);
                }
                if let Some(other) = &other.strong {
                    let own = page.strong.get_or_insert_with(|| Box::new([[0; WORDS]; 4]));
                    let words = own.iter_mut().flatten().zip(other.iter().flatten());
                    words.for_each(|(word, other)| *word |= other);
                }
            }
        }
    }

    /// Returns the ranges accessed before the wait for the prerequisite grids, as [`Recorder::touched`] does.
    pub(crate) fn touched_before_wait(&self, regions: &[Region]) -> Vec<TouchedRange> {
        ranges(&self.early, regions)
    }

    /// Returns the accessed ranges, in ascending order for each kind.
    pub(crate) fn touched(&self, regions: &[Region]) -> Vec<TouchedRange> {
        ranges(&self.regions, regions)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let regions = self.regions.iter_mut().chain(&mut self.early);
        let pages = regions.flat_map(take).filter_map(|slot| slot.page).chain(take(&mut self.spare));
        let mut kept = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        let most = SPARE_PAGES.saturating_sub(kept.len());
        kept.extend(pages.take(most));
    }
}

#[cfg(test)]
mod tests;
