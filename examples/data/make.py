#!/usr/bin/env python3
"""Makes the example data, always the same: python3 examples/data/make.py

Everything is made up here: templates filled at random from a fixed seed, and a few texts written by hand.
"""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).parent

THINGS = ["kettle", "desk lamp", "travel backpack", "garden hose", "wall clock", "rain jacket", "coffee grinder",
          "bicycle pump", "picnic blanket", "tool box", "bread knife", "tea pot", "door mat", "hiking pole"]
MATERIALS = ["steel", "oak", "recycled plastic", "bamboo", "cotton", "ceramic", "aluminium", "wool"]
COLOURS = ["black", "white", "forest green", "navy blue", "red", "sand", "grey"]
USES = ["for the kitchen", "for long journeys", "for small flats", "for the garden shed", "for children",
        "for rainy days", "for the office", "for camping"]
QUALITIES = ["light enough to carry all day", "easy to clean with warm water", "made to be repaired, not replaced",
             "quiet even at full power", "folds flat when it is not in use", "tested for ten thousand uses",
             "delivered without any plastic wrapping", "pleasant to hold even with wet hands"]
PLACES = ["the harbour", "the old town", "the river bank", "the north station", "the market square", "the hill road",
          "the library", "the fish hall", "the lower bridge"]
EVENTS = ["a burst pipe flooded the cellar of a bakery", "the council voted to widen the cycle path",
          "a storm brought down four lime trees", "the ferry resumed its evening service",
          "workers found a wall from the thirteenth century", "a choir of two hundred voices sang at dawn",
          "the new tram ran its first test without passengers", "volunteers planted six hundred saplings"]
DETAILS = ["Nobody was hurt.", "The work is expected to take three weeks.", "Traffic was led around the area until noon.",
           "The cost is put at 1.2 million.", "Residents had asked for it since 2019.",
           "The next meeting is on Thursday at seven.", "Schools in the district stayed closed.",
           "Entry is free, and the doors open at nine.", "The mayor's office promised a report by spring.",
           "Engineers will inspect the foundations next week."]
MONTHS = ["January", "March", "April", "June", "August", "October", "December"]
BY_HAND = [
    ("zh-1", "图书馆将从下周一开始延长开放时间，读者可以在晚上十点之前借阅和归还图书。"),
    ("zh-2", "图书馆将从下周一开始延长开放时间，读者可以在晚上十点之前借阅和归还图书！"),
    ("zh-3", "新的地铁线路预计明年春天通车，沿途共设十二个车站。"),
    ("th-1", "ห้องสมุดจะขยายเวลาเปิดทำการตั้งแต่วันจันทร์หน้า ผู้อ่านสามารถยืมและคืนหนังสือได้จนถึงสี่ทุ่ม"),
    ("th-2", "ห้องสมุดจะขยายเวลาเปิดทำการตั้งแต่วันจันทร์หน้า ผู้อ่านสามารถยืมและคืนหนังสือได้จนถึงห้าทุ่ม"),
    ("th-3", "ตลาดน้ำเปิดทุกวันเสาร์และอาทิตย์ มีอาหารและผลไม้ตามฤดูกาล"),
    ("ar-1", "تعلن المكتبة عن تمديد ساعات العمل ابتداء من يوم الاثنين القادم حتى الساعة العاشرة مساء كل يوم"),
    ("ar-2", "تعلن المكتبة عن تمديد ساعات العمل ابتداء من يوم الاثنين القادم حتى الساعة العاشرة مساء كل أسبوع"),
    ("ar-3", "يفتح السوق القديم أبوابه صباح يوم الجمعة ويعرض الخضار والفواكه الطازجة"),
    ("short", "Sold out."),
    ("empty", ""),
]


def product(draw):
    thing, material, colour = draw.choice(THINGS), draw.choice(MATERIALS), draw.choice(COLOURS)
    first, second, third = draw.sample(QUALITIES, 3)
    return (f"{thing.capitalize()} of {material} in {colour}, {draw.choice(USES)}. Our customers say: {first}; {second}; "
            f"{third}. Height {draw.randint(8, 120)} cm, width {draw.randint(8, 120)} cm, "
            f"weight {draw.randint(2, 60) / 10} kg, item number {draw.randint(10000, 99999)}, "
            f"in stock since {draw.choice(MONTHS)} {draw.randint(2015, 2025)}. "
            f"Spare parts are kept for {draw.randint(5, 20)} years and can be ordered by post.")


def news(draw):
    details = " ".join(draw.sample(DETAILS, 5))
    day = draw.choice(["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"])
    return (f"On {day} morning near {draw.choice(PLACES)}, {draw.choice(EVENTS)}, while at {draw.choice(PLACES)} "
            f"{draw.choice(EVENTS)}. {details} "
            f"Notice {draw.randint(100, 999)} of the town, page {draw.randint(1, 40)}.")


def edited(draw, text):
    """A copy with a word or two changed, as a careless editor leaves it."""
    words = text.split(" ")
    for _ in range(draw.choice([1, 1, 1, 2])):
        place = draw.randrange(len(words) // 2, len(words))
        change = draw.choice(["other", "drop", "twice"])
        words[place:place + 1] = {"other": [draw.choice(["new", "small", "last", "third"])], "drop": [],
                                  "twice": [words[place]] * 2}[change]
    return " ".join(words)


def records():
    draw = random.Random(2026)
    texts = [("p", product(draw)) for _ in range(80)] + [("n", news(draw)) for _ in range(80)]
    originals = draw.sample(texts, 30)
    texts += [("copy", text) for _, text in originals[:8]]
    texts += [("loud", text.upper().replace(",", " -")) for _, text in originals[8:12]]
    texts += [("edit", edited(draw, text)) for _, text in originals[12:]]
    draw.shuffle(texts)
    rows = [{"id": f"{kind}-{number}", "text": text} for number, (kind, text) in enumerate(texts, 1)]
    for name, text in BY_HAND:
        rows.insert(draw.randrange(len(rows)), {"id": name, "text": text})
    return rows


def baskets():
    draw = random.Random(7)
    goods = ["apples", "bread", "butter", "cheese", "coffee", "eggs", "flour", "honey", "leeks", "milk", "oats", "pears",
             "rice", "salt", "soap", "sugar", "tea", "tofu", "walnuts", "yeast"]
    rows = [sorted(draw.sample(goods, draw.randint(4, 10))) for _ in range(40)]
    for row in draw.sample(rows, 10):
        alike = set(row)
        alike.discard(draw.choice(row))
        if draw.random() < 0.5:
            alike.add(draw.choice(goods))
        rows.append(sorted(alike))
    return rows


LEFT = """The bridge below the mill was closed on Friday. Heavy rain had washed away part of the bank, and a crack had
opened in the second arch. Engineers measured it twice and found that it was growing by a finger's breadth every day.
Until it is repaired, carts and bicycles take the ferry at the old customs house, which runs every twenty minutes from
six in the morning until ten at night. Walkers may still cross in single file.
"""
RIGHT = """Walkers may still cross the bridge below the mill in single file, the town said. Heavy rain had washed away
part of the bank, and a crack had opened in the second arch. It was growing by a finger's breadth every day, two
measurements showed. Carts and bicycles take the ferry at the old customs house, which runs every twenty minutes from
six in the morning until nine at night.
"""


def main():
    lines = [json.dumps(record, ensure_ascii=False) for record in records()]
    (FOLDER / "notices.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (FOLDER / "baskets.sets").write_text("".join(" ".join(row) + "\n" for row in baskets()), encoding="utf-8")
    (FOLDER / "bridge-morning.txt").write_text(LEFT, encoding="utf-8")
    (FOLDER / "bridge-evening.txt").write_text(RIGHT, encoding="utf-8")


if __name__ == "__main__":
    main()
