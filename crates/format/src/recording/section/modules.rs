//! ```text
//!   rows: path text │ build id bytes │ bias
//! ```

use alloc::string::String;
use alloc::vec::Vec;

use super::Outcome;
use crate::recording::model::Module;
use crate::recording::wire::{Reader, Writer};
use crate::units::Addr;

pub(crate) fn write(modules: &[Module], to: &mut Writer) {
    to.count(modules.len());
    for module in modules {
        to.text(&module.path);
        to.bytes(&module.build_id);
        to.number(module.bias.get());
    }
}

pub(crate) fn read(modules: &mut Vec<Module>, from: &mut Reader<'_>) -> Outcome {
    from.rows(3, modules, |from| {
        Ok(Module {
            path: String::from(from.text()?),
            build_id: from.bytes()?.to_vec(),
            bias: Addr::new(from.number()?),
        })
    })
}
