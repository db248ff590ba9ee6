//! Programs that hold tensors.

use super::{Held, none_wrong};
use crate::harness::{Folder, besides};
use crate::python::tensorflow::python;

const HELD: &[Held] = &[
    Held {
        what: "000 ex 1: a list of constants",
        script: "import tensorflow as tf\nleaky_tensors = []\nfor i in range(3_000):\n  leaky_tensors.append(tf.constant(i)) # here",
        path: &["module __main__", "leaky_tensors (list)", "[*] EagerTensor"],
    },
    Held {
        what: "tensors on an object",
        script: "import tensorflow as tf\nclass Trainer:\n  def __init__(self):\n    self.history = []\ntrainer = Trainer()\nfor i in range(400):\n  trainer.history.append(tf.random.normal([128, 128])) # here",
        path: &["module __main__", "trainer (Trainer)", ".history (list)", "[*] EagerTensor"],
    },
];

#[test]
fn tensors_are_held_by_the_variables_that_hold_them() {
    let test = "holders::tensorflow::tensors_are_held_by_the_variables_that_hold_them";
    let Some(python) = python(test) else { return };
    let folder = Folder::new();
    let (first, others) = HELD.split_at(1);
    let held: Vec<&Held> = first.iter().chain(besides(others)).collect();
    let wrong: Vec<String> = held.iter().filter_map(|held| held.wrong(&python, &folder)).collect();
    none_wrong(&wrong, held.len());
}
