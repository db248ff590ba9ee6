//! Numbers over the iterations of a program, or over its seconds: what they are counted by, what they do, how fast they rise,
//! and how sure that is. It knows no site, no rule and no finding.

mod axis;
#[cfg(test)]
mod generated;
mod series;
mod shape;
mod slope;
mod slowing;
mod thresholds;
mod time_series;
mod work;

pub use axis::How;
pub(crate) use axis::{Axis, AxisMark};
pub(crate) use series::{Point, Series};
pub(crate) use shape::trend;
pub use shape::{Shape, Trend};
pub use slope::Slope;
pub(crate) use slope::slope;
pub use slowing::Slowing;
pub(crate) use slowing::slowing;
pub(crate) use thresholds::{LEAST_OF_LINE, LEAST_OF_WHOLE, LEAST_POINTS, LEAST_TO_STOP, Thresholds};
pub(crate) use time_series::TimeSeries;
pub(crate) use work::WorkClock;
