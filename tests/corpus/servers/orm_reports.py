# cause: compiled-cache-fills
# class: servers
# report: https://github.com/sqlalchemy/sqlalchemy/issues/5348
# verdict: plateau
# needs: sqlalchemy
# note: Each statement is compiled anew because its labels differ; the engine keeps 200 compiled statements and the session is closed after each request.

import os

from sqlalchemy import create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import StaticPool

ITERATIONS = int(os.environ.get("CORPUS_ITERATIONS", "1500"))


class Base(DeclarativeBase):
    pass


class Sale(Base):
    __tablename__ = "sale"
    id: Mapped[int] = mapped_column(primary_key=True)
    shop: Mapped[int]
    amount: Mapped[int]


def fill(engine):
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add_all(Sale(shop=n % 7, amount=n * 3 % 101) for n in range(200))
        session.commit()


def report(engine, number):
    statement = select(Sale.shop, (Sale.amount * 2).label(f"amount_{number}")).where(Sale.shop == number % 7)
    with Session(engine) as session:
        return sum(row[1] for row in session.execute(statement))


def main():
    engine = create_engine("sqlite://", poolclass=StaticPool, query_cache_size=200)
    fill(engine)
    total = 0
    for number in range(ITERATIONS):
        total += report(engine, number)
    print(f"truth iterations={ITERATIONS}")
    engine.dispose()


main()
