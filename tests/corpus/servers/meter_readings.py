# cause: orm-parent-collection
# class: servers
# report: https://github.com/podly-pure-podcasts/podly_pure_podcasts/issues/199
# verdict: leak
# line: 49
# bytes-per-iteration: 14800
# holder: readings
# fix: expunge, expire, close, new session, write_only, dynamic
# needs: sqlalchemy
# note: The writer's session lives as long as the program and each reading is appended to the loaded collection of its meter, which keeps it after it was written.

import os
import tempfile

from sqlalchemy import ForeignKey, Text, create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "1500"))


class Base(DeclarativeBase):
    pass


class Meter(Base):
    __tablename__ = "meter"
    id: Mapped[int] = mapped_column(primary_key=True)
    readings: Mapped[list["Reading"]] = relationship(back_populates="meter")


class Reading(Base):
    __tablename__ = "reading"
    id: Mapped[int] = mapped_column(primary_key=True)
    meter_id: Mapped[int] = mapped_column(ForeignKey("meter.id"))
    trace: Mapped[str] = mapped_column(Text)
    meter: Mapped[Meter] = relationship(back_populates="readings")


class Writer:
    def __init__(self, url):
        self.engine = create_engine(url)
        Base.metadata.create_all(self.engine)
        self.session = Session(self.engine, expire_on_commit=False)
        self.meter = Meter(id=1)
        self.session.add(self.meter)
        self.session.flush()

    def store(self, number):
        trace = ",".join(f"{(number * n) % 8191}" for n in range(2600))
        self.meter.readings.append(Reading(trace=trace))
        self.session.flush()
        return len(trace)

    def close(self):
        self.session.rollback()
        self.session.close()
        self.engine.dispose()


def main():
    with tempfile.TemporaryDirectory() as folder:
        writer = Writer(f"sqlite:///{folder}/meters.db")
        size = sum(writer.store(number) for number in range(ITERATIONS))
        print(f"truth iterations={ITERATIONS}")
        writer.close()
    return size


main()
