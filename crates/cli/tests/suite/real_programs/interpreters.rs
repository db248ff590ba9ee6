//! Perl, Node.js and the JVM, with forks, threads, signals and children.

use super::trial::Trial;

const PERL: &str = r#"
use strict; use warnings;
$| = 1;
my %words;
$words{"k" . ($_ % 5003)} .= chr(65 + $_ % 26) for 1 .. 300000;
my $sum = 0;
$sum = ($sum * 31 + length($words{$_}) + ord(substr($words{$_}, -1))) % 1000003 for sort keys %words;
print "sum $sum\n";
my @children;
for my $number (1 .. 4) {
    pipe(my $reader, my $writer);
    my $pid = fork();
    if (!$pid) {
        close $reader;
        my @products = map { $_ * $number } 1 .. 1000;
        print $writer join(",", @products[0 .. 3]), "\n";
        close $writer;
        exit $number;
    }
    close $writer;
    push @children, [$pid, $reader];
}
for my $child (@children) {
    my $line = readline($child->[1]);
    waitpid($child->[0], 0);
    print $line, $? >> 8, "\n";
}
local $SIG{ALRM} = sub { die "interrupted\n" };
eval { alarm 1; my @held; while (1) { push @held, "x" x 100; @held = () if @held > 1000; } };
print "alarm: $@";
my $text = "abc" x 100000;
$text =~ s/(b)(c)/$2$1/g;
print length($text), " ", `echo from a child`;
open(my $file, ">", "written") or die; print $file $text; close $file;
exit 5;
"#;

#[test]
fn a_perl_script_is_unharmed() {
    let Some(trial) = Trial::of("a_perl_script_is_unharmed", &["perl"]) else { return };
    trial.input("script.pl", PERL).unharmed_with_status("exec perl script.pl", 5);
}

const NODE: &str = r#"
const { Worker, isMainThread, parentPort } = require('worker_threads');
const { execFileSync } = require('child_process');
const zlib = require('zlib'), crypto = require('crypto'), fs = require('fs');
if (!isMainThread) {
    const sums = new Map();
    for (let i = 0; i < 100000; i++) sums.set('k' + i % 777, (sums.get('k' + i % 777) || 0) + i);
    parentPort.postMessage([...sums.values()].reduce((a, b) => a + b, 0));
} else {
    const packed = zlib.gzipSync(Buffer.alloc(3e6, 'heap and lens '));
    console.log(crypto.createHash('sha256').update(zlib.gunzipSync(packed)).digest('hex'));
    let ended = 0;
    for (let i = 0; i < 4; i++) {
        const worker = new Worker(__filename);
        worker.on('message', sum => console.log('worker', sum));
        worker.on('exit', () => { if (++ended == 4) rest(); });
    }
}
function rest() {
    console.log(execFileSync('sh', ['-c', 'echo from a child']).toString());
    try { execFileSync('sh', ['-c', 'exit 9']); } catch (error) { console.log('child ended with', error.status); }
    const rows = [];
    for (let i = 0; i < 300000; i++) rows.push({ i, text: 'x' + i });
    console.log(JSON.stringify(rows).length);
    fs.writeFileSync('written.gz', zlib.gzipSync(JSON.stringify(rows.slice(0, 1000))));
    process.exitCode = 3;
}
"#;

#[test]
fn a_node_script_is_unharmed() {
    let Some(trial) = Trial::of("a_node_script_is_unharmed", &["node"]) else { return };
    trial.input("script.js", NODE).unharmed_with_status("exec node script.js", 3);
}

const JAVA: &str = r#"
import java.util.*;
import java.util.concurrent.*;

public class Program {
    static int deeper(int depth) { return deeper(depth + 1) + 1; }

    public static void main(String[] words) throws Exception {
        var rows = new TreeMap<String, byte[]>();
        for (int i = 0; i < 200000; i++) rows.put("k" + i % 9001, new byte[i % 500]);
        long sum = 0;
        for (var row : rows.entrySet()) sum += row.getKey().hashCode() * 31L + row.getValue().length;
        System.out.println("sum " + sum);
        var pool = Executors.newFixedThreadPool(8);
        var results = new ArrayList<Future<Integer>>();
        for (int t = 0; t < 8; t++) {
            int factor = t;
            results.add(pool.submit(() -> { int n = 0; for (int i = 0; i < 1000000; i++) n += i * factor; return n; }));
        }
        for (var result : results) System.out.println(result.get());
        pool.shutdown();
        try { Object nothing = null; nothing.hashCode(); } catch (NullPointerException e) { System.out.println("null"); }
        try { deeper(0); } catch (StackOverflowError e) { System.out.println("too deep"); }
        System.gc();
        System.exit(6);
    }
}
"#;

/// Compiles and runs in one process. The JVM handles SIGSEGV itself, and asks for every thread's stack as it starts.
#[test]
fn a_jvm_is_unharmed() {
    let Some(trial) = Trial::of("a_jvm_is_unharmed", &["java", "javac"]) else { return };
    trial.input("Program.java", JAVA).unharmed_with_status("exec java Program.java", 6);
}
