// cause: rc-cycle
// class: rust
// report: https://github.com/fefit/rphtml/issues/1
// verdict: lost
// line: 27
// bytes-per-iteration: 33300
// holder: -
// fix: Weak, downgrade
// note: Every node owns its document and the document owns its nodes, so the counts never reach zero; 8 nodes with 4,096 bytes of text each.

use std::cell::RefCell;
use std::env;
use std::rc::Rc;

struct Document {
    title: String,
    nodes: RefCell<Vec<Rc<Node>>>,
}

struct Node {
    text: Vec<u8>,
    document: Rc<Document>,
}

impl Node {
    fn new(document: &Rc<Document>, number: u8) -> Rc<Node> {
        let text = vec![b'a' + number % 26; 4096];
        Rc::new(Node { text, document: Rc::clone(document) })
    }

    fn weight(&self) -> u64 {
        let mut sum = self.document.title.len() as u64;
        for _ in 0..40 {
            for byte in &self.text {
                sum = sum.wrapping_mul(31).wrapping_add(u64::from(*byte));
            }
        }
        sum
    }
}

fn parse(title: &str) -> Rc<Document> {
    let document = Rc::new(Document { title: title.to_string(), nodes: RefCell::new(Vec::with_capacity(8)) });
    for number in 0..8 {
        let node = Node::new(&document, number);
        document.nodes.borrow_mut().push(node);
    }
    document
}

fn main() {
    let iterations: u64 = env::var("CORPUS_ITERATIONS").ok().and_then(|v| v.parse().ok()).unwrap_or(3000);
    let mut sum = 0u64;
    for i in 0..iterations {
        let document = parse(&format!("page {i}"));
        for node in document.nodes.borrow().iter() {
            sum ^= node.weight();
        }
    }
    println!("{sum}");
    println!("truth iterations={iterations}");
}
