//! Names with numbers that stay from snapshot to snapshot.

use std::collections::HashMap;
use std::sync::Arc;

/// Every name once; 0 is no name.
#[derive(Debug)]
pub(crate) struct Interner {
    numbers: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
}

impl Default for Interner {
    fn default() -> Self {
        Self { numbers: HashMap::new(), names: vec!["".into()] }
    }
}

impl Interner {
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        if let Some(&number) = self.numbers.get(name) {
            return number;
        }
        let (number, name) = (self.names.len() as u32, Arc::<str>::from(name));
        self.names.push(name.clone());
        self.numbers.insert(name, number);
        number
    }

    pub(crate) fn name(&self, number: u32) -> &Arc<str> {
        &self.names[number as usize]
    }

    /// All names so far, by their numbers.
    pub(crate) fn all(&self) -> &[Arc<str>] {
        &self.names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = Interner::default();
        let [list, dict] = ["list", "dict"].map(|name| names.number(name));
        assert_eq!((names.number("list"), names.number("dict"), names.number("")), (list, dict, 0));
        assert_eq!((&**names.name(list), &**names.name(0), names.all().len()), ("list", "", 3));
    }
}
