//! Every scenario, every moment of it, what a cut may leave.

use super::child::{log, obey};
use super::disk::{Disk, Event, SampleSize, Tree, restore};
use super::pages::{Packed, Pages, unpacked};
use super::scenario::{AFTER_KILL, Scenario, Seen, Work, scenarios};
use oxiblosc_testing::data::Rng;
use oxiblosc_testing::folder::without_syncs;
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::shim;
use oxiblosc_testing::workers::{Part, divided};
use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Disks that are looked at in one process.
const BATCH: usize = 24;
/// Seconds that all may take, on a machine that has much else to do.
const PATIENCE: u32 = 4 * 3600;

/// A process that was killed: after which event, whether its changes were durable, and what the
/// next one does.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Killed {
    at: usize,
    durable: bool,
    then: Work,
}

/// What came after a kill.
struct AfterKill {
    /// How many calls of the killed process had returned.
    returned: usize,
    /// Where frames may begin.
    places: Vec<i64>,
    /// What is seen after each call of the process that comes next.
    seen: Vec<Seen>,
}

/// When the power was cut: how many calls had returned before it, and whether a process was killed
/// before that.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Moment {
    returned: usize,
    killed: Option<Killed>,
}

impl Moment {
    /// Whether anything is promised. What was not made durable is so with the first durable change
    /// that returns.
    fn is_safe(self) -> bool {
        self.returned > 0 || self.killed.is_none_or(|killed| killed.durable)
    }
}

/// A disk that a cut left, and the moments at which it may have. Many moments leave the same disk,
/// which is looked at once if frames may begin in the same places.
struct Left {
    hash: u64,
    tree: Packed,
    places: Vec<i64>,
    moments: Vec<Moment>,
}

impl Left {
    fn is_after_kill(&self) -> bool {
        self.moments.iter().any(|moment| moment.killed.is_some())
    }
}

struct Case<'a> {
    lib: &'static SchunkLib,
    reference: Option<&'static SchunkLib>,
    scenario: &'a Scenario,
    places: Vec<i64>,
    /// What is seen after so many calls.
    seen: Vec<Seen>,
    after_kill: BTreeMap<Killed, AfterKill>,
}

/// How much is looked at.
#[derive(Clone, Copy)]
struct Budget {
    sample: SampleSize,
    /// The same after a kill, of which there are many.
    after_kill: SampleSize,
    /// Disks of one change of a frame; of calls that write whole files all are looked at, as there
    /// are few.
    disks: usize,
    /// The same after a kill.
    disks_after_kill: usize,
    /// One kill of so many.
    kills: usize,
}

impl Budget {
    fn of_environment() -> Budget {
        let sample = |parts, torn| SampleSize { parts, torn };
        match std::env::var("OXIBLOSC_POWER").as_deref() {
            Ok("full") => Budget {
                sample: sample(8, 64),
                after_kill: sample(5, 8),
                disks: usize::MAX,
                disks_after_kill: usize::MAX,
                kills: 1,
            },
            _ => Budget {
                sample: sample(4, 4),
                after_kill: sample(3, 2),
                disks: 6,
                disks_after_kill: 4,
                kills: 60,
            },
        }
    }
}

impl Case<'_> {
    fn which(&self, moment: Moment) -> String {
        let killed = moment.killed.map_or(String::new(), |killed| {
            let kind = if killed.durable { "" } else { "not " };
            let (at, then) = (killed.at, killed.then);
            format!(
                ", in {then:?} after a process that was {kind}durable was killed after call {at}"
            )
        });
        let (name, returned) = (self.scenario.name(), moment.returned);
        format!("{name}, {returned} calls had returned{killed}")
    }

    /// What may be seen of a disk that was left at this moment: one call may be done or not.
    fn may_be_seen(&self, moment: Moment) -> Vec<Seen> {
        let returned = moment.returned;
        let states = |steps: &[Seen], returned: usize| {
            steps[returned..=(returned + 1).min(steps.len() - 1)].to_vec()
        };
        let Some(killed) = moment.killed else {
            return states(&self.seen, returned);
        };
        let after = &self.after_kill[&killed];
        let mut may = states(&after.seen, returned);
        if returned == 0 {
            let before = states(&self.seen, after.returned);
            may.extend(before.iter().map(|seen| self.seen_at(seen, &after.places)));
        }
        may
    }

    /// What was seen at the scenario's own places, at others.
    fn seen_at(&self, seen: &Seen, places: &[i64]) -> Seen {
        let own = |place: &i64| self.places.iter().position(|own| own == place);
        let at = |place: &i64| own(place).and_then(|own| seen[own].clone());
        places.iter().map(at).collect()
    }

    /// Looks at a disk in its folder: `Err` of what is wrong with it, and when it was left.
    fn look(&self, left: &Left, folder: &Path) -> Result<(), String> {
        let promised = |moment: &&Moment| !self.scenario.makes() || moment.returned > 0;
        let moments: Vec<&Moment> = left.moments.iter().filter(promised).collect();
        restore(&unpacked(&left.tree), folder);
        let seen = self.scenario.look(self.lib, folder, &left.places);
        let is_old = |old: &Seen| self.seen_at(old, &left.places) == seen;
        let Some(last) = moments.last() else {
            return Ok(());
        };
        for moment in &moments {
            if !self.may_be_seen(**moment).contains(&seen) {
                let kind = match self.seen.iter().any(is_old) {
                    true => "stale",
                    false => "lost",
                };
                return Err(format!("{kind}|{}", self.which(**moment)));
            }
        }
        let goes_on = self
            .scenario
            .live_on(self.lib, self.reference, folder, &left.places);
        goes_on.map_err(|wrong| format!("recovered, but {wrong}|{}", self.which(**last)))
    }

    /// Looks at disks in processes of their own.
    fn look_at_all(&self, lefts: &[Left], folder: &Path, report: &mut Report) {
        let mut wrong_with = |wrong: &str, left: &Left| match wrong.split_once('|') {
            Some((what, which)) => report.fail(what, which),
            // It died.
            None => report.fail(wrong, self.which(left.moments[0])),
        };
        for batch in lefts.chunks(BATCH) {
            let all = || match batch.iter().all(|left| self.look(left, folder).is_ok()) {
                true => Ok(()),
                false => Err("one is wrong".to_owned()),
            };
            if isolated(120, all).is_ok() {
                continue;
            }
            for left in batch {
                if let Err(wrong) = isolated(60, || self.look(left, folder)) {
                    wrong_with(&wrong, left);
                }
            }
        }
    }
}

/// Follows a log; at each moment after which less may be there, all disks that a cut leaves.
struct Follower {
    sample: SampleSize,
    /// Where in `lefts` a disk is, by its hash.
    given: HashMap<u64, usize>,
    pages: Pages,
    lefts: Vec<Left>,
}

impl Follower {
    fn new(sample: SampleSize) -> Follower {
        Follower {
            sample,
            given: HashMap::new(),
            pages: Pages::default(),
            lefts: Vec::new(),
        }
    }

    /// As many of the disks as are to be looked at: some that a kill came before, and some of the
    /// others.
    fn chosen(self, budget: &Budget) -> Vec<Left> {
        let (killed, others): (Vec<_>, Vec<_>) =
            self.lefts.into_iter().partition(Left::is_after_kill);
        let some = |mut lefts: Vec<Left>, most| {
            lefts.sort_by_key(|left| left.hash);
            lefts.truncate(most);
            lefts
        };
        let mut chosen = some(others, budget.disks);
        chosen.extend(some(killed, budget.disks_after_kill));
        chosen
    }

    fn follow(
        &mut self,
        disk: &mut Disk,
        events: &[Event],
        killed: Option<Killed>,
        places: &[i64],
    ) {
        let (mut returned, mut marks) = (0, 0);
        for (at, event) in events.iter().enumerate() {
            if !event.is_change() && marks > 0 {
                self.cut(disk, Moment { returned, killed }, places, at as u64);
            }
            disk.apply(event);
            marks += usize::from(matches!(event, Event::Mark));
            returned = marks.saturating_sub(1);
        }
        let moment = Moment { returned, killed };
        self.cut(disk, moment, places, events.len() as u64);
    }

    fn cut(&mut self, disk: &Disk, moment: Moment, places: &[i64], seed: u64) {
        if !moment.is_safe() {
            return;
        }
        let (given, pages, lefts) = (&mut self.given, &mut self.pages, &mut self.lefts);
        disk.cuts(self.sample, seed, &mut |tree| {
            let mut hasher = DefaultHasher::new();
            (&tree, places).hash(&mut hasher);
            let hash = hasher.finish();
            let at = *given.entry(hash).or_insert_with(|| {
                lefts.push(Left {
                    hash,
                    tree: pages.pack(tree),
                    places: places.to_vec(),
                    moments: Vec::new(),
                });
                lefts.len() - 1
            });
            if !lefts[at].moments.contains(&moment) {
                lefts[at].moments.push(moment);
            }
        });
    }
}

/// The sweep of one worker.
struct Sweep {
    budget: Budget,
    /// Base of the scenarios, and where each disk is looked at.
    base: PathBuf,
    work: PathBuf,
    shim: PathBuf,
    report: Report,
}

impl Sweep {
    /// One scenario.
    fn scenario(&mut self, number: usize, scenario: &Scenario) -> Result<(), String> {
        let lib = our_schunks();
        restore(&Tree::new(), &self.base);
        scenario.make(lib, &self.base);
        let places = scenario.places(lib, &self.base);
        let before = Disk::of(&self.base).seen();
        restore(&before, &self.work);
        let mut seen = Vec::new();
        let look = &mut || seen.push(scenario.look(lib, &self.work, &places));
        scenario.run(lib, &self.work, &places, look)?;
        let mut case = Case {
            lib,
            reference: reference_schunks(),
            scenario,
            places,
            seen,
            after_kill: BTreeMap::new(),
        };
        let is_change = matches!(scenario.work, Work::Change(_));
        let budget = Budget {
            disks: if is_change {
                self.budget.disks
            } else {
                usize::MAX
            },
            ..self.budget
        };
        let mut lefts = Vec::new();
        for durable in [true, false] {
            restore(&before, &self.work);
            let disk = Disk::of(&self.work);
            let events = log(number, None, durable, &self.work, &case.places, &self.shim)?;
            let mut follower = Follower::new(self.budget.sample);
            if durable {
                follower.follow(&mut disk.clone(), &events, None, &case.places);
            }
            self.kills(number, &mut case, disk, (&events, durable), &mut follower);
            lefts.extend(follower.chosen(&budget));
        }
        let killed = lefts.iter().filter(|left| left.is_after_kill()).count();
        let both = killed > 0 && killed < lefts.len();
        self.report
            .check(both || !is_change, "one kind of disks alone", || {
                format!("{}: {killed} of {}", scenario.name(), lefts.len())
            });
        self.report.note_many("after a kill", killed as u64);
        let moments = lefts.iter().map(|left| left.moments.len() as u64);
        let moments = moments.sum::<u64>();
        self.report.cases += moments;
        self.report.note_many("different disks", lefts.len() as u64);
        let (name, disks) = (scenario.name(), lefts.len());
        println!("{name}: {disks} disks, left at {moments} moments");
        case.look_at_all(&lefts, &self.work, &mut self.report);
        Ok(())
    }

    /// A process is killed after each of the events; the next one goes on with what it left, and in
    /// that the power is cut.
    fn kills(
        &mut self,
        number: usize,
        case: &mut Case,
        mut disk: Disk,
        (events, durable): (&[Event], bool),
        follower: &mut Follower,
    ) {
        let begins = events.iter().position(|event| matches!(event, Event::Mark));
        let begins = begins.unwrap_or(events.len());
        let changes = (begins..events.len()).filter(|at| events[*at].is_change());
        let can = |which: &usize| case.scenario.after_kill(AFTER_KILL[*which]).is_some();
        // The frame goes on each time; that a file is written over or behind it, in turns.
        let works = |at: usize| [0, 1 + at % 2].into_iter().filter(can);
        let all = changes.flat_map(|at| works(at).map(move |which| (at, which)));
        let mut kills: Vec<(usize, usize)> = all.collect();
        kills.sort_by_key(|(at, which)| Rng((number * 10000 + at * 10 + which) as u64).next());
        kills.truncate(kills.len().div_ceil(self.budget.kills));
        let mut marks = 0;
        for (at, event) in events.iter().enumerate() {
            disk.apply(event);
            marks += usize::from(matches!(event, Event::Mark));
            for (_, which) in kills.iter().filter(|kill| kill.0 == at) {
                let then = AFTER_KILL[*which];
                let killed = Killed { at, durable, then };
                let done = self.after_kill(number, case, &disk, (killed, marks - 1), follower);
                if let Err(wrong) = done {
                    let which = format!("{then:?} of {} at {at}: {wrong}", case.scenario.name());
                    self.report.fail("after a kill", which);
                }
            }
        }
    }

    /// One process that goes on with what a killed one left on this disk after so many of its calls
    /// had returned.
    fn after_kill(
        &mut self,
        number: usize,
        case: &mut Case,
        disk: &Disk,
        (killed, returned): (Killed, usize),
        follower: &mut Follower,
    ) -> Result<(), String> {
        let Some(next) = case.scenario.after_kill(killed.then) else {
            return Ok(());
        };
        let (lib, work, first) = (case.lib, &self.work, case.scenario.work);
        let left = disk.seen();
        restore(&left, work);
        let Some(places) = next.places_after_kill(lib, work, &case.places, first)? else {
            return Ok(());
        };
        restore(&left, work);
        let mut disk = disk.clone();
        disk.meet(work);
        let which = AFTER_KILL.iter().position(|work| *work == killed.then);
        let events = log(number, which, true, work, &places, &self.shim)?;
        restore(&left, work);
        let mut seen = Vec::new();
        let look = &mut || seen.push(next.look(lib, work, &places));
        next.run(lib, work, &places, look)?;
        follower.sample = self.budget.after_kill;
        if killed.then != Work::Recover {
            // The order in which these two write is looked at with all its parts where nothing was
            // killed.
            follower.sample.parts = follower.sample.parts.min(3);
        }
        follower.follow(&mut disk, &events, Some(killed), &places);
        let after = AfterKill {
            returned,
            places,
            seen,
        };
        case.after_kill.insert(killed, after);
        Ok(())
    }

    /// Every scenario of this part of the sweep.
    fn run(mut self, part: Part) -> Report {
        let only = std::env::var("OXIBLOSC_POWER_ONLY").unwrap_or_default();
        for (number, scenario) in scenarios().iter().enumerate() {
            if !part.has(number) || !scenario.name().contains(&only) {
                continue;
            }
            if let Err(wrong) = self.scenario(number, scenario) {
                let which = format!("{}: {wrong}", scenario.name());
                self.report.fail("a scenario", which);
            }
        }
        self.report
    }
}

#[test]
fn power_cut_in_every_change() {
    obey();
    reference_schunks();
    let folder = without_syncs().join(format!("oxiblosc-power-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let shim = shim::compile(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/power/shim.c"),
        &folder,
    );
    let report = divided(PATIENCE, &folder, |part, own| {
        let sweep = Sweep {
            budget: Budget::of_environment(),
            base: own.join("base"),
            work: own.join("work"),
            shim: shim.clone(),
            report: Report::default(),
        };
        sweep.run(part)
    });
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
    report.finish("moments at which the power was cut");
}
