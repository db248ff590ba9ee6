//! Loops of libraries that call the user's work once in each iteration: training loops and worker loops. Their iterations count as those of the
//! user's own loops do. Agent and analysis must agree, as on whose a file is.
//!
//! Event loops (asyncio, selectors, `serve_forever` of servers) are not among them: everything that a program does is inside
//! of those, its own loops, too, and what comes next in them is no iteration of anything.

/// A function of a library whose loops count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LibraryLoop {
    /// How its file ends, from the beginning of a folder's name on.
    file: &'static str,
    /// Its name, without those of the classes around it: before Python 3.11 code objects do not have them.
    function: &'static str,
    /// What the iterations of its outermost loop are.
    pub outer: &'static str,
    /// And of those inside.
    pub inner: &'static str,
}

const fn row(
    file: &'static str,
    function: &'static str,
    outer: &'static str,
    inner: &'static str,
) -> LibraryLoop {
    LibraryLoop { file, function, outer, inner }
}

const EPOCHS_OF_KERAS: &str = "epochs of Keras";
const BATCHES_OF_KERAS: &str = "batches of Keras";
const EPOCHS_OF_LIGHTNING: &str = "epochs of Lightning";
const BATCHES_OF_LIGHTNING: &str = "batches of Lightning";
const STEPS_OF_TRAINER: &str = "steps of Trainer";
const BATCHES_OF_LOADER: &str = "batches of a DataLoader worker";
const TASKS_OF_PROCESSES: &str = "tasks of a process pool";
const ROUNDS: &str = "boosting rounds";

/// All of them.
pub const LIBRARY_LOOPS: &[LibraryLoop] = &[
    // Keras 3, one trainer for each backend.
    row("keras/src/backend/tensorflow/trainer.py", "fit", EPOCHS_OF_KERAS, BATCHES_OF_KERAS),
    row("keras/src/backend/tensorflow/trainer.py", "evaluate", BATCHES_OF_KERAS, BATCHES_OF_KERAS),
    row("keras/src/backend/tensorflow/trainer.py", "predict", BATCHES_OF_KERAS, BATCHES_OF_KERAS),
    row("keras/src/backend/jax/trainer.py", "fit", EPOCHS_OF_KERAS, BATCHES_OF_KERAS),
    row("keras/src/backend/jax/trainer.py", "evaluate", BATCHES_OF_KERAS, BATCHES_OF_KERAS),
    row("keras/src/backend/jax/trainer.py", "predict", BATCHES_OF_KERAS, BATCHES_OF_KERAS),
    row("keras/src/backend/torch/trainer.py", "fit", EPOCHS_OF_KERAS, BATCHES_OF_KERAS),
    row("keras/src/backend/torch/trainer.py", "evaluate", BATCHES_OF_KERAS, BATCHES_OF_KERAS),
    row("keras/src/backend/torch/trainer.py", "predict", BATCHES_OF_KERAS, BATCHES_OF_KERAS),
    // Keras 2: its own package, the one of that name for newer TensorFlow, and the one inside older TensorFlow.
    row("keras/src/engine/training.py", "fit", EPOCHS_OF_KERAS, BATCHES_OF_KERAS),
    row("tf_keras/src/engine/training.py", "fit", EPOCHS_OF_KERAS, BATCHES_OF_KERAS),
    row("keras/engine/training.py", "fit", EPOCHS_OF_KERAS, BATCHES_OF_KERAS),
    // Lightning, by its newer and its older name.
    row("lightning/pytorch/loops/fit_loop.py", "run", EPOCHS_OF_LIGHTNING, BATCHES_OF_LIGHTNING),
    row("lightning/pytorch/loops/training_epoch_loop.py", "run", BATCHES_OF_LIGHTNING, BATCHES_OF_LIGHTNING),
    row("lightning/pytorch/loops/evaluation_loop.py", "run", BATCHES_OF_LIGHTNING, BATCHES_OF_LIGHTNING),
    row("lightning/pytorch/loops/prediction_loop.py", "run", BATCHES_OF_LIGHTNING, BATCHES_OF_LIGHTNING),
    row("pytorch_lightning/loops/fit_loop.py", "run", EPOCHS_OF_LIGHTNING, BATCHES_OF_LIGHTNING),
    row("pytorch_lightning/loops/training_epoch_loop.py", "run", BATCHES_OF_LIGHTNING, BATCHES_OF_LIGHTNING),
    row("pytorch_lightning/loops/evaluation_loop.py", "run", BATCHES_OF_LIGHTNING, BATCHES_OF_LIGHTNING),
    // Hugging Face's Trainer.
    row("transformers/trainer.py", "_inner_training_loop", "epochs of Trainer", STEPS_OF_TRAINER),
    row("transformers/trainer.py", "evaluation_loop", "batches of Trainer", STEPS_OF_TRAINER),
    // Gradient boosting.
    row("xgboost/training.py", "train", ROUNDS, ROUNDS),
    row("lightgbm/engine.py", "train", ROUNDS, ROUNDS),
    // Processes that are given work.
    row("torch/utils/data/_utils/worker.py", "_worker_loop", BATCHES_OF_LOADER, BATCHES_OF_LOADER),
    row("multiprocessing/pool.py", "worker", TASKS_OF_PROCESSES, TASKS_OF_PROCESSES),
    row("concurrent/futures/process.py", "_process_worker", TASKS_OF_PROCESSES, TASKS_OF_PROCESSES),
    // Threads that are given work.
    row("concurrent/futures/thread.py", "_worker", "tasks of a thread pool", "tasks of a thread pool"),
];

impl LibraryLoop {
    /// The row of a function, by its file and its (qualified) name.
    pub fn of(file: &str, function: &str) -> Option<&'static Self> {
        let name = function.rsplit('.').next().unwrap_or(function);
        LIBRARY_LOOPS.iter().find(|row| row.function == name && row.is_in(file))
    }

    fn is_in(&self, file: &str) -> bool {
        file.strip_suffix(self.file).is_some_and(|folder| folder.is_empty() || folder.ends_with('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_found_by_the_end_of_its_path_and_the_end_of_its_name() {
        let keras = "/opt/venv/lib/python3.11/site-packages/keras/src/backend/tensorflow/trainer.py";
        let found = LibraryLoop::of(keras, "TensorFlowTrainer.fit");
        assert_eq!(found.map(|row| (row.outer, row.inner)), Some((EPOCHS_OF_KERAS, BATCHES_OF_KERAS)));
        assert_eq!(LibraryLoop::of(keras, "fit"), found, "as before Python 3.11");
        assert_eq!(LibraryLoop::of(keras, "TensorFlowTrainer.train_step"), None);
        let pool = "/usr/lib/python3.12/multiprocessing/pool.py";
        assert_eq!(LibraryLoop::of(pool, "worker").map(|row| row.outer), Some(TASKS_OF_PROCESSES));
    }

    #[test]
    fn a_folder_whose_name_only_ends_alike_is_another() {
        assert_eq!(LibraryLoop::of("/home/user/mytransformers/trainer.py", "_inner_training_loop"), None);
        assert_eq!(LibraryLoop::of("/home/user/trainer.py", "fit"), None);
    }

    /// Every event of a program is inside of these.
    #[test]
    fn event_loops_are_not_among_them() {
        let loops = [
            ("/usr/lib/python3.12/asyncio/base_events.py", "BaseEventLoop.run_forever"),
            ("/usr/lib/python3.12/socketserver.py", "BaseServer.serve_forever"),
        ];
        assert!(loops.iter().all(|(file, name)| LibraryLoop::of(file, name).is_none()));
    }
}
