// cause: weak-parent
// class: rust
// report: https://doc.rust-lang.org/book/ch15-06-reference-cycles.html
// verdict: clean
// note: Children hold their parent weakly, so dropping the root drops the tree.

use std::cell::RefCell;
use std::env;
use std::rc::{Rc, Weak};

struct Branch {
    leaves: Vec<u32>,
    parent: RefCell<Weak<Branch>>,
    children: RefCell<Vec<Rc<Branch>>>,
}

fn grow(depth: u32) -> Rc<Branch> {
    let branch = Rc::new(Branch {
        leaves: (0..500).map(|leaf| leaf * depth).collect(),
        parent: RefCell::new(Weak::new()),
        children: RefCell::new(Vec::new()),
    });
    if depth > 0 {
        for _ in 0..4 {
            let child = grow(depth - 1);
            *child.parent.borrow_mut() = Rc::downgrade(&branch);
            branch.children.borrow_mut().push(child);
        }
    }
    branch
}

fn count(branch: &Branch) -> u64 {
    let mut sum: u64 = branch.leaves.iter().map(|leaf| u64::from(*leaf)).sum();
    if branch.parent.borrow().upgrade().is_some() {
        sum += 1;
    }
    for child in branch.children.borrow().iter() {
        sum += count(child);
    }
    sum
}

fn main() {
    let iterations: u64 = env::var("CORPUS_ITERATIONS").ok().and_then(|v| v.parse().ok()).unwrap_or(10000);
    let mut sum = 0u64;
    for i in 0..iterations {
        let tree = grow(3 + (i % 2) as u32);
        sum = sum.wrapping_add(count(&tree));
    }
    println!("{sum}");
    println!("truth iterations={iterations}");
}
