//! Following a child program whose environment was cleaned: the agent puts itself back into the list that `exec` gets.
//!
//! A list that does not fit is passed on as it is: the child then runs unseen, never broken.

use core::ffi::{CStr, c_char};

use heaplens_format::environment::{self, Imports, Objects};

use super::exec_memory;
use super::inspect::{self, FileParts};
use super::path::{self, PathBuffer};
use super::settings::settings;
use crate::sys;

/// The longest environment that can be completed.
const MOST_VARIABLES: usize = 1000;
/// Space for the text of the variables that we add.
const TEXT_LENGTH: usize = 6 << 10;

/// An environment as `exec` takes it: pointers to `NAME=value`, the last one null.
pub type Environment = *const *const c_char;

/// What is about to be started.
#[derive(Clone, Copy, Debug)]
pub enum Program<'a> {
    /// The file at this path.
    Path(&'a CStr),
    /// The first file of this name in `PATH`.
    Name(&'a CStr),
    /// Something open.
    Descriptor,
}

/// What is made and read before a program is started.
struct Workspace {
    list: List,
    file: FileParts,
    path: PathBuffer,
}
const _: () = assert!(size_of::<Workspace>() <= exec_memory::SIZE);

/// Calls `action` with the environment completed, or with the given one when there is nothing to change. A program that
/// could not load the agent gets none.
///
/// # Safety
/// `given` is null or a null-terminated array of zero-terminated strings.
pub unsafe fn with_agent<R>(
    program: Program<'_>,
    given: Environment,
    action: impl FnOnce(Environment) -> R,
) -> R {
    let settings = settings();
    if !settings.follow || settings.agent.is_empty() {
        return action(given);
    }
    exec_memory::with_memory(|memory| {
        // SAFETY: it is large enough, zero is a value of this type, and nobody else has it.
        let Some(memory) = memory.map(|memory| unsafe { &mut *(memory as *mut Workspace) }) else {
            return action(given);
        };
        memory.list.clear();
        let done = match sys::may_read(settings.agent.as_c_str()) && !program.refuses_agent(memory) {
            // SAFETY: as the caller says.
            true => unsafe { memory.list.complete(given, &settings.agent) },
            // SAFETY: as the caller says.
            false => unsafe { memory.list.strip(given, &settings.agent) },
        };
        match done {
            Some(()) => action(memory.list.variables.as_ptr()),
            None => action(given),
        }
    })
}

impl Program<'_> {
    fn refuses_agent(self, memory: &mut Workspace) -> bool {
        let Workspace { path, file, .. } = memory;
        match self {
            Self::Path(path) => inspect::refuses_agent(path, file),
            Self::Name(name) if name.to_bytes().contains(&b'/') => inspect::refuses_agent(name, file),
            Self::Name(name) => find(name, path) && inspect::refuses_agent(path.as_c_str(), file),
            Self::Descriptor => false,
        }
    }
}

/// Finds the file that a name means, as `execvp` looks it up.
fn find(name: &CStr, path: &mut PathBuffer) -> bool {
    // SAFETY: `getenv` reads the environment that `execvp` itself is about to read.
    let variable = unsafe { libc::getenv(c"PATH".as_ptr()).as_ref() };
    // SAFETY: a variable's value is zero-terminated.
    let folders = variable.map_or(&b"/bin:/usr/bin"[..], |value| unsafe { CStr::from_ptr(value) }.to_bytes());
    folders.split(|&byte| byte == b':').any(|folder| {
        path.clear();
        path.push(if folder.is_empty() { b"." } else { folder });
        path.push(b"/");
        path.push(name.to_bytes());
        !path.is_empty() && sys::may_read(path.as_c_str())
    })
}

/// An environment that is being made.
struct List {
    variables: [*const c_char; MOST_VARIABLES],
    count: usize,
    text: [u8; TEXT_LENGTH],
    used: usize,
}

impl List {
    fn clear(&mut self) {
        (self.count, self.used) = (0, 0);
    }

    /// Copies the list and adds what is missing; `None` when nothing is or when it does not fit.
    ///
    /// # Safety
    /// As for [`with_agent`].
    unsafe fn complete(&mut self, given: Environment, agent: &PathBuffer) -> Option<()> {
        let empty: *const c_char = core::ptr::null();
        let mut preload: &[u8] = b"";
        let mut has_directory = false;
        let mut cursor = if given.is_null() { &raw const empty } else { given };
        // SAFETY: the array ends with a null pointer, and each string with a zero.
        while let Some(variable) = unsafe { (*cursor).as_ref() } {
            // SAFETY: as above.
            let text = unsafe { CStr::from_ptr(variable) }.to_bytes();
            has_directory |= value_of(text, environment::DIRECTORY).is_some();
            match value_of(text, environment::PRELOAD) {
                Some(value) => preload = value,
                None if is_ours(text) => {}
                None => self.push(variable)?,
            }
            // SAFETY: not past the null pointer.
            cursor = unsafe { cursor.add(1) };
        }
        let has_agent = preload.windows(agent.bytes().len()).any(|part| part == agent.bytes());
        if has_agent && has_directory {
            return None;
        }
        let first: [&[u8]; 2] = match (has_agent, preload.is_empty()) {
            (true, _) => [b"", b""],
            (false, true) => [agent.bytes(), b""],
            (false, false) => [agent.bytes(), b":"],
        };
        self.push_text(environment::PRELOAD, &[first[0], first[1], preload])?;
        self.push_settings(agent)?;
        self.push(core::ptr::null())
    }

    /// Copies the list without the agent, which the next program could not load: the dynamic linker would complain on its
    /// stderr. `None` when it is not in it.
    ///
    /// # Safety
    /// As for [`with_agent`].
    unsafe fn strip(&mut self, given: Environment, agent: &PathBuffer) -> Option<()> {
        let mut found = false;
        let mut cursor = given;
        // SAFETY: the array ends with a null pointer, and each string with a zero.
        while let Some(variable) = unsafe { cursor.as_ref().and_then(|first| first.as_ref()) } {
            // SAFETY: as above.
            let text = unsafe { CStr::from_ptr(variable) }.to_bytes();
            match value_of(text, environment::PRELOAD) {
                Some(value) if value.windows(agent.bytes().len()).any(|part| part == agent.bytes()) => {
                    found = true;
                    self.push_preload_without(value, agent)?;
                }
                _ => self.push(variable)?,
            }
            // SAFETY: not past the null pointer.
            cursor = unsafe { cursor.add(1) };
        }
        self.push(core::ptr::null())?;
        found.then_some(())
    }

    fn push_preload_without(&mut self, value: &[u8], agent: &PathBuffer) -> Option<()> {
        let start = self.used;
        let mut others = value
            .split(|byte| b": ".contains(byte))
            .filter(|part| !part.is_empty() && *part != agent.bytes());
        let Some(first) = others.next() else { return Some(()) };
        self.append(environment::PRELOAD.as_bytes())?;
        self.append(b"=")?;
        self.append(first)?;
        for other in others {
            self.append(b":")?;
            self.append(other)?;
        }
        self.append(b"\0")?;
        let variable = self.text.get(start)? as *const u8;
        self.push(variable.cast())
    }

    fn push_settings(&mut self, agent: &PathBuffer) -> Option<()> {
        let settings = settings();
        self.push_text(environment::AGENT, &[agent.bytes()])?;
        if !settings.directory.is_empty() {
            self.push_text(environment::DIRECTORY, &[settings.directory.bytes()])?;
        }
        if settings.sample_interval != 0 {
            let number = settings.sample_interval.min(u64::from(u32::MAX)) as u32;
            self.push_text(environment::SAMPLE, &[path::decimal(number, &mut [0; path::DIGITS])])?;
        }
        if settings.objects != Objects::Sampled {
            self.push_text(environment::OBJECTS, &[settings.objects.word().as_bytes()])?;
        }
        if settings.imports != Imports::Folded {
            self.push_text(environment::IMPORTS, &[settings.imports.word().as_bytes()])?;
        }
        if settings.passive {
            self.push_text(environment::PASSIVE, &[b"1"])?;
        }
        if !settings.frameworks {
            self.push_text(environment::NO_FRAMEWORKS, &[b"1"])?;
        }
        if !settings.checks_text.is_empty() {
            self.push_text(environment::CHECKS, &[settings.checks_text.bytes()])?;
        }
        if !settings.guarded_code.is_empty() {
            self.push_text(environment::GUARDED_CODE, &[settings.guarded_code])?;
        }
        if settings.checks_section() {
            self.push_text(environment::LEAK_CHECK_FROM, &[settings.leak_check_from.bytes()])?;
            self.push_text(environment::LEAK_CHECK_TO, &[settings.leak_check_to.bytes()])?;
        }
        Some(())
    }

    fn push(&mut self, variable: *const c_char) -> Option<()> {
        *self.variables.get_mut(self.count)? = variable;
        self.count += 1;
        Some(())
    }

    fn push_text(&mut self, name: &str, value: &[&[u8]]) -> Option<()> {
        let start = self.used;
        self.append(name.as_bytes())?;
        self.append(b"=")?;
        value.iter().try_for_each(|part| self.append(part))?;
        self.append(b"\0")?;
        let variable = self.text.get(start)? as *const u8;
        self.push(variable.cast())
    }

    fn append(&mut self, part: &[u8]) -> Option<()> {
        let end = self.used + part.len();
        self.text.get_mut(self.used..end)?.copy_from_slice(part);
        self.used = end;
        Some(())
    }
}

fn is_ours(text: &[u8]) -> bool {
    const OURS: [&str; 11] = [
        environment::DIRECTORY,
        environment::AGENT,
        environment::SAMPLE,
        environment::OBJECTS,
        environment::IMPORTS,
        environment::PASSIVE,
        environment::NO_FRAMEWORKS,
        environment::CHECKS,
        environment::GUARDED_CODE,
        environment::LEAK_CHECK_FROM,
        environment::LEAK_CHECK_TO,
    ];
    OURS.iter().any(|name| value_of(text, name).is_some())
}

fn value_of<'t>(text: &'t [u8], name: &str) -> Option<&'t [u8]> {
    text.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn list() -> List {
        List { variables: [core::ptr::null(); MOST_VARIABLES], count: 0, text: [0; TEXT_LENGTH], used: 0 }
    }

    fn completed(given: &[&CStr], agent: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut pointers: Vec<*const c_char> = given.iter().map(|text| text.as_ptr()).collect();
        pointers.push(core::ptr::null());
        let mut list = list();
        // SAFETY: `pointers` is a null-terminated array of C strings.
        unsafe { list.complete(pointers.as_ptr(), &PathBuffer::new(agent)) }?;
        let variables = &list.variables[..list.count - 1];
        // SAFETY: `complete` stores only C strings before the null pointer.
        Some(
            variables
                .iter()
                .map(|&variable| unsafe { CStr::from_ptr(variable) }.to_bytes().to_vec())
                .collect(),
        )
    }

    #[test]
    fn a_cleaned_environment_gets_the_agent_back() {
        let list = completed(&[c"A=1", c"B="], b"/x/libheaplens.so").unwrap();
        assert_eq!(list[0], b"A=1");
        assert_eq!(list[1], b"B=");
        assert_eq!(list[2], b"LD_PRELOAD=/x/libheaplens.so");
        assert_eq!(list[3], b"HEAPLENS_AGENT=/x/libheaplens.so");
    }

    #[test]
    fn what_the_program_preloads_stays_behind_the_agent() {
        let list = completed(&[c"LD_PRELOAD=libjemalloc.so.2"], b"/a.so").unwrap();
        assert_eq!(list[0], b"LD_PRELOAD=/a.so:libjemalloc.so.2");
        let whole = [c"LD_PRELOAD=/a.so:libother.so", c"HEAPLENS_DIR=/x"];
        assert_eq!(completed(&whole, b"/a.so"), None);
        let list = completed(&whole[..1], b"/a.so").unwrap();
        assert_eq!(list[0], b"LD_PRELOAD=/a.so:libother.so");
        assert_eq!(list[1], b"HEAPLENS_AGENT=/a.so");
    }

    #[test]
    fn an_agent_that_cannot_be_read_is_taken_out() {
        let given = [c"A=1".as_ptr(), c"LD_PRELOAD=libx.so:/a.so liby.so".as_ptr(), core::ptr::null()];
        let mut list = list();
        // SAFETY: a null-terminated array of C strings.
        unsafe { list.strip(given.as_ptr(), &PathBuffer::new(b"/a.so")) }.unwrap();
        // SAFETY: `strip` stored a C string there.
        assert_eq!(unsafe { CStr::from_ptr(list.variables[1]) }, c"LD_PRELOAD=libx.so:liby.so");
    }

    #[test]
    fn an_environment_that_does_not_fit_is_left_alone() {
        let many: Vec<&CStr> = (0..MOST_VARIABLES).map(|_| c"A=1").collect();
        assert_eq!(completed(&many, b"/a.so"), None);
    }
}
