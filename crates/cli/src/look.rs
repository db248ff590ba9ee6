//! Hands a process that stands still from the recorder to the analysis: which of its blocks are lost, and who holds the others.

use heaplens_analyze::heap::{
    Block, Examiner, MappedFile, PythonScene, ReadMemory, RootKind, RootRange, RootRegister, Scene,
};
use heaplens_format::recording::LeakCheck;
use heaplens_format::{Addr, Bytes};
use heaplens_record::{Examined, Frozen, LiveBlock, RootKind as SeenKind};

/// How early memory is asked for a way to a block; names of Python's come before all of it but the last.
mod rank {
    pub(super) const DATA: u8 = 3;
    pub(super) const STACK: u8 = 4;
    pub(super) const MAPPED: u8 = 5;
    pub(super) const ANONYMOUS: u8 = 6;
}

/// Looks at one program after the other.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    examiner: Examiner,
}

impl Looks {
    /// Which blocks can be reached.
    pub(crate) fn lost(&mut self, frozen: &Frozen) -> Examined {
        let memory = Memory(frozen);
        let leaks = match self.examiner.lost(scene(frozen, &memory)) {
            Ok(lost) => LeakCheck::Done(lost),
            Err(error) => LeakCheck::NotDone(error.to_string()),
        };
        Examined { leaks: Some(leaks), view: None }
    }

    /// The same, and who holds them.
    pub(crate) fn look(&mut self, frozen: &Frozen) -> Examined {
        let memory = Memory(frozen);
        match self.examiner.look(scene(frozen, &memory)) {
            Ok(look) => Examined { leaks: Some(LeakCheck::Done(look.lost)), view: Some(look.view) },
            Err(error) => Examined { leaks: Some(LeakCheck::NotDone(error.to_string())), view: None },
        }
    }
}

/// The memory of a process that stands still.
struct Memory<'a>(&'a Frozen);

impl ReadMemory for Memory<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        self.0.read(address, into)
    }
}

fn scene<'m, 'a>(frozen: &Frozen, memory: &'m Memory<'a>) -> Scene<'m, Memory<'a>> {
    let data = |&(start, end): &(u64, u64)| RootRange { start, end, kind: RootKind::Data, rank: rank::DATA };
    let register = |&word: &u64| RootRegister { thread: 0, word, rank: rank::STACK };
    Scene {
        memory,
        blocks: frozen.blocks().iter().map(block).collect(),
        roots: frozen.roots().iter().map(|root| range(root.start, root.end, root.kind)).collect(),
        allocator_data: frozen.allocator_data().iter().map(data).collect(),
        registers: frozen.registers().iter().map(register).collect(),
        files: files(frozen),
        python: frozen.python().map(|python| PythonScene {
            version: (python.major, python.minor),
            arenas: frozen.python_arenas().to_vec(),
            sampled: frozen.objects().iter().map(block).collect(),
        }),
    }
}

fn block(block: &LiveBlock) -> Block {
    Block { address: Addr::new(block.address), size: Bytes::new(block.size), site: block.site }
}

fn range(start: u64, end: u64, kind: SeenKind) -> RootRange {
    let (kind, rank) = match kind {
        SeenKind::Data => (RootKind::Data, rank::DATA),
        SeenKind::Stack { thread } => (RootKind::Stack { thread }, rank::STACK),
        SeenKind::Mapped { site } => (RootKind::Mapped { site }, rank::MAPPED),
        SeenKind::Anonymous => (RootKind::Anonymous, rank::ANONYMOUS),
    };
    RootRange { start, end, kind, rank }
}

fn files(frozen: &Frozen) -> Vec<MappedFile> {
    let areas = frozen.areas().iter().filter(|area| area.name.starts_with('/'));
    let file = |area: &heaplens_record::MappedArea| MappedFile {
        start: area.start,
        end: area.end,
        offset: area.offset,
        path: area.name.clone().into(),
    };
    areas.map(file).collect()
}
