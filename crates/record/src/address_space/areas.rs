//! The areas of a process's address space as the kernel lists them in `/proc/PID/smaps`, each with what of it is resident.

use std::io;

use heaplens_format::{Addr, Bytes, Pid};
use heaplens_snapshot::Span;

use crate::os::procfs;

/// One row of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) span: Span,
    /// Whether it can be read or written at all.
    pub(crate) is_accessible: bool,
    pub(crate) is_writable: bool,
    /// Whether what is written stays in this process.
    pub(crate) is_private: bool,
    /// Where in its file it begins.
    pub(crate) offset: u64,
    /// Whether it maps a file.
    pub(crate) has_file: bool,
    /// The path of the file, or a name in brackets; empty where there is none.
    pub(crate) name: String,
    pub(crate) rss: Bytes,
    /// What of it was swapped out.
    pub(crate) swap: Bytes,
    pub(crate) pss: Bytes,
    /// Resident pages that no other process has.
    pub(crate) uss: Bytes,
}

impl Area {
    /// Private memory without a file: heaps, arenas, stacks, what programs map.
    pub(crate) fn is_anonymous(&self) -> bool {
        let is_nameless = self.name.is_empty() || self.name == "[heap]" || self.name.starts_with("[anon:");
        self.is_private && !self.has_file && is_nameless
    }

    pub(crate) fn length(&self) -> Bytes {
        self.span.length()
    }
}

/// How often the list is read until it agrees with what the kernel counts.
const ATTEMPTS: usize = 3;
/// How much the two may differ: the kernel's own count lags by some pages for each processor.
const APART: Bytes = Bytes::new(1 << 20);

/// Reads the list of a process that goes on meanwhile: memory that it moved or made while the list was written may be there
/// twice. Of several attempts the one that is nearest to what the kernel counts before and after; `None` when it is gone.
pub(crate) fn read_whole(process: Pid) -> Option<Vec<Area>> {
    let mut best: Option<(Bytes, Vec<Area>)> = None;
    for _ in 0..ATTEMPTS {
        let before = procfs::resident(process)?.now;
        let areas = read(process).ok().filter(|areas| !areas.is_empty())?;
        let after = procfs::resident(process)?.now;
        let sum = areas.iter().map(|area| area.rss).sum::<Bytes>();
        let (low, high) = (before.min(after), before.max(after));
        let off = low.saturating_sub(sum).max(sum.saturating_sub(high));
        if best.as_ref().is_none_or(|&(least, _)| off < least) {
            best = Some((off, areas));
        }
        if off <= APART + Bytes::new(high.get() / 200) {
            break;
        }
    }
    best.map(|(_, areas)| areas)
}

/// Reads the list.
pub(crate) fn read(process: Pid) -> io::Result<Vec<Area>> {
    Ok(parse(&std::fs::read(format!("/proc/{process}/smaps"))?))
}

fn parse(smaps: &[u8]) -> Vec<Area> {
    let mut areas = Vec::<Area>::new();
    for line in String::from_utf8_lossy(smaps).lines() {
        let first = line.split(' ').next().unwrap_or_default();
        if let Some(key) = first.strip_suffix(':') {
            if let Some(area) = areas.last_mut() {
                add(area, key, line);
            }
        } else if let Some(area) = head(line) {
            areas.push(area);
        }
    }
    areas
}

/// `7f1c2a000000-7f1c2a021000 rw-p 00000000 00:00 0    [name or path]`.
fn head(line: &str) -> Option<Area> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let rights = fields.next()?.as_bytes();
    let offset = u64::from_str_radix(fields.next()?, 16).ok()?;
    let inode = fields.nth(1)?;
    Some(Area {
        span: Span::new(address(start)?, address(end)?),
        is_accessible: rights.first() == Some(&b'r') || rights.get(1) == Some(&b'w'),
        is_writable: rights.get(1) == Some(&b'w'),
        is_private: rights.get(3) == Some(&b'p'),
        offset,
        has_file: inode != "0",
        name: fields.next().unwrap_or_default().trim_start().to_owned(),
        ..Area::default()
    })
}

fn address(digits: &str) -> Option<Addr> {
    u64::from_str_radix(digits, 16).ok().map(Addr::new)
}

fn add(area: &mut Area, key: &str, line: &str) {
    let field = match key {
        "Rss" => &mut area.rss,
        "Swap" => &mut area.swap,
        "Pss" => &mut area.pss,
        "Private_Clean" | "Private_Dirty" => &mut area.uss,
        _ => return,
    };
    let kib = line.split_ascii_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    *field += Bytes::new(kib.saturating_mul(1024));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
55d0c0000000-55d0c0001000 r-xp 00001000 fd:00 131 /opt/a b\n\
Size:                  4 kB\n\
Rss:                   4 kB\n\
Pss:                   1 kB\n\
Private_Clean:         4 kB\n\
Private_Dirty:         0 kB\n\
VmFlags: rd ex mr mw me sd\n\
7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n\
Rss:                   8 kB\n\
Private_Dirty:         8 kB\n\
Swap:                 12 kB\n\
SwapPss:              12 kB\n\
7f0000021000-7f0004000000 ---p 00000000 00:00 0 \n\
7f0004000000-7f0004001000 rw-s 00000000 00:01 7                          /memfd:x y (deleted)\n";

    #[test]
    fn rows_are_read_with_their_names_and_sizes() {
        let areas = parse(SMAPS.as_bytes());
        let names: Vec<&str> = areas.iter().map(|area| area.name.as_str()).collect();
        assert_eq!(names, ["/opt/a b", "", "", "/memfd:x y (deleted)"]);
        assert_eq!(areas[0].offset, 0x1000);
        assert_eq!(
            (areas[0].rss, areas[0].pss, areas[0].uss),
            (Bytes::new(4096), Bytes::new(1024), Bytes::new(4096))
        );
        assert_eq!((areas[0].swap, areas[1].swap), (Bytes::ZERO, Bytes::new(12 << 10)));
        assert!(!areas[0].is_anonymous() && areas[1].is_anonymous() && !areas[3].is_anonymous());
        assert!(areas[1].is_accessible && !areas[2].is_accessible);
        assert_eq!(areas[2].length(), Bytes::new(0x3fdf000));
    }

    #[test]
    fn what_is_no_list_has_no_rows() {
        assert_eq!(parse(b"\xff\xfe: -\nRss: 4 kB\nx-y z\n"), []);
    }

    #[test]
    fn this_process_has_a_stack() {
        let areas = read(Pid::new(std::process::id())).unwrap();
        assert!(areas.iter().any(|area| area.name == "[stack]" && area.rss > Bytes::ZERO));
    }
}
