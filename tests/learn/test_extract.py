"""What is read from a message about its writer, and what must not be."""

from __future__ import annotations

import json
import random
import string
from datetime import UTC, datetime

import pytest

from ltst.errors import Invalid
from ltst.learn.extract import claims, clauses, reading
from ltst.learn.extract.clauses import sentences
from ltst.learn.extract.message import MOST_CLAIMS
from ltst.learn.extract.reading import own_words
from ltst.records import Claim

SAID_AT = datetime(2026, 11, 16, 12, tzinfo=UTC)

# Each line is a message and its claims: "-key" ends ("*" whatever is known), "P:" is a preference, "@" is since when.
SAYS = """
My name's Oluwaseun, nice to meet you => name = Oluwaseun
i'm called Bartholomew but don't laugh => name = Bartholomew
I am Ana and I live in Braga => name = Ana; home = Braga
Hey, I'm Tomasz! => name = Tomasz
hi there, Jonas here => name = Jonas
My full name is Maria del Carmen Ruiz. => name = Maria del Carmen Ruiz
I go by Kit => P:address_as = Kit
I am thirty-seven years old => age = 37
I'm 52 years old and feeling it => age = 52
I turned 40 last week => age = 40 @ 2026-11-09
im 23 btw => age = 23
I'm a 28-year-old teacher from Leipzig => age = 28; job = teacher
my birthday is on May 4th => birthday = May 4
My birthday's December 12 => birthday = December 12
I was born on 3 March 1990 => birthday = 3 March 1990
my bday is 12 april => birthday = 12 april
Today is my birthday! => birthday = November 16
I'm a nurse. I live in Rome. Just kidding! => job = nurse
All kidding aside, I live in Rome => home = Rome
I live in New York City with my cat. => home = New York City
We live in the Netherlands => home = Netherlands
I'm based in Tallinn these days => home = Tallinn
I've lived in Hanoi since 2019 => home = Hanoi @ 2019-01-01
I recently moved to Cape Town => home = Cape Town
We moved back to Ghent last month => home = Ghent @ 2026-10-01
I moved from Porto to Lisbon => home = Lisbon; -home = Porto
Actually I live in Porto, not Lisbon => home = Porto; -home = Lisbon
I reside in Montreal => home = Montreal
last year we moved to Oslo => home = Oslo @ 2025-01-01
In 2021 I relocated to Dubai for work => home = Dubai @ 2021-01-01
I've just moved to Graz => home = Graz
my home is in Valencia => home = Valencia
I now live in Bilbao => home = Bilbao
I no longer live in Madrid => -home = Madrid
I used to live in Paris => -home = Paris
I don't live in Rome anymore => -home = Rome
I'm a software engineer => job = software engineer
I work as a midwife in a busy hospital => job = midwife
I'm working as a barista for now => job = barista
I got promoted to team lead last month => job = team lead @ 2026-10-01
I'm a nurse at Mercy Hospital => job = nurse; employer = Mercy Hospital
I got a job at Beta as a designer => job = designer; employer = Beta
I became a lawyer in 2018 => job = lawyer @ 2018-01-01
I've been working as an electrician for ten years => job = electrician @ 2016-11-16
I'm the CTO of Nimbus => job = CTO; employer = Nimbus
I'm an English teacher => job = English teacher
As a nurse, I see this a lot => job = nurse
I'm retired => job = retired; -employer = *
By profession I'm an architect => job = architect
I'm a stay-at-home dad => job = stay-at-home dad
I'm no longer a teacher => -job = teacher
I used to be a firefighter => -job = firefighter
I work at Siemens => employer = Siemens
I work for the United Nations => employer = United Nations
I work for a small startup => employer = small startup
I just started a new job at Spotify => employer = Spotify
I was hired by Airbus in September => employer = Airbus @ 2026-09-01
I've worked at IKEA since 2012 => employer = IKEA @ 2012-01-01
I quit my job at Acme => -employer = Acme
I left Google last year => -employer = Google @ 2025-01-01
I got laid off from Meta => -employer = Meta
I no longer work at Zalando => -employer = Zalando
I used to work for Nokia => -employer = Nokia
I'm happily divorced => -partner = *
I'm single again => -partner = *
I'm engaged to Pedro => partner = Pedro
I'm married to Joana => partner = Joana
My husband is called Rui => partner = Rui
my wife Ana loves sushi => partner = Ana
I'm dating Carlos => partner = Carlos
My boyfriend's name is Ilya => partner = Ilya
Tom is my husband => partner = Tom
I'm vegan => diet = vegan
I'm a vegetarian => diet = vegetarian
I went vegan two years ago => diet = vegan @ 2024-11-16
I keep kosher => diet = kosher
I eat halal => diet = halal
I'm on a keto diet => diet = keto
I became a pescatarian in 2020 => diet = pescatarian @ 2020-01-01
I've gone vegetarian => diet = vegetarian
I'm no longer vegan => -diet = vegan
I used to be vegetarian => -diet = vegetarian
I stopped being vegan => -diet = vegan
I have two kids => child = two kids
I have a daughter named Mia => child = Mia
We have a 3-year-old son => child = 3-year-old son
my daughter Ines is starting school => child = Ines
My kids are called Ana and Rui => child = Ana; child = Rui
We just had a baby girl => child = baby girl
I'm a father of two => child = two children
I have twins => child = twins
I have a dog => pet = dog
I have a golden retriever called Biscuit => pet = Biscuit
My cat Pixel is 12 => pet = Pixel
we adopted a kitten last week => pet = kitten @ 2026-11-09
My dog's name is Rex => pet = Rex
I own three cats => pet = three cats
We got a puppy named Odie => pet = Odie
My dog Rex died => -pet = Rex
our hamster passed away yesterday => -pet = hamster @ 2026-11-15
I'm allergic to peanuts and shellfish => allergy = peanuts; allergy = shellfish
I have a severe peanut allergy => allergy = peanut
I'm severely allergic to bee stings => allergy = bee stings
I have an allergy to latex => allergy = latex
I speak French and a little German => language = French; language = German
I'm fluent in Mandarin => language = Mandarin
My mother tongue is Basque => language = Basque
I'm a native Spanish speaker => language = Spanish
I can speak Dutch => language = Dutch
I code in Go => programming_language = Go
I write all my code in TypeScript => programming_language = TypeScript
Please call me Sam => P:address_as = Sam
you can call me Al => P:address_as = Al
keep answers short => P:answer_length = short
Keep your replies brief, please. => P:answer_length = brief
I prefer short answers => P:answer_length = short
The market. And I prefer short answers, by the way. => P:answer_length = short
Oh, and I prefer dark mode => P:theme = dark mode
give me detailed answers => P:answer_length = detailed
Speak to me in Spanish from now on => P:answer_language = Spanish
I prefer a casual tone => P:tone = casual
I prefer bullet points => P:format = bullet points
I prefer dark mode => P:theme = dark mode
I prefer 4 spaces over tabs => P:code_style = 4 spaces
I prefer Python over Java => P:programming_language = Python
Never use my last name => instruction = Never use my last name
From now on end every answer with a question. => instruction = From now on end every answer with a question
Whenever I paste code, look for bugs first => instruction = Whenever I paste code, look for bugs first
Every time I ask for a recipe, list the allergens => instruction = Every time I ask for a recipe, list the allergens
please always include a summary at the end => instruction = please always include a summary at the end
In future, don't suggest restaurants with meat => instruction = In future, don't suggest restaurants with meat
Name is Wanda, by the way. => name = Wanda
I should introduce myself, I'm Farid. => name = Farid
I'm fifty. => age = 50
I recently turned 65, so pension questions incoming => age = 65
Turning 30 felt weird, I'm 31 now => age = 31
My date of birth is 14/02/1991 => birthday = 14/02/1991
my birthday falls on the 3rd of August => birthday = 3 August
Been living in Seville for two years now => home = Seville @ 2024-11-16
My family and I live in Tbilisi. => home = Tbilisi
I settled in Perth after uni => home = Perth
I packed up and moved to Riga two weeks ago => home = Riga @ 2026-11-02
I live just outside Bristol => home = Bristol
I live in a small village near Salamanca => home = Salamanca
my flat is in Brno => home = Brno
home for me is Trieste => home = Trieste
I call Vancouver home => home = Vancouver
I live in Kraków, Poland => home = Kraków
I moved out of Bristol => -home = Bristol
I make my living as a piano tuner => job = piano tuner
I'm a junior doctor on the night shift => job = junior doctor
I'm a freelance photographer based in Turin => job = freelance photographer; home = Turin
I'm employed as a lab technician => job = lab technician
I'm currently a postdoc at Max Planck Institute => job = postdoc; employer = Max Planck Institute
I've just been promoted to senior analyst => job = senior analyst
I started working as a tram driver in August => job = tram driver @ 2026-08-01
My new role is product manager => job = product manager
I switched careers and became a carpenter => job = carpenter
I'm a mechanic by trade => job = mechanic
I gave up teaching and I'm a florist now => job = florist
I'm an accountant, married, two kids => job = accountant
I quit being a lawyer => -job = lawyer
I've been at Bosch for eight years => employer = Bosch @ 2018-11-16
my company is called Tidewater Analytics => employer = Tidewater Analytics
I got hired at Lidl => employer = Lidl
I'm a teacher at Lincoln High School => job = teacher; employer = Lincoln High School
I handed in my notice at Barclays => -employer = Barclays
I was made redundant by Ford in October => -employer = Ford @ 2026-10-01
I resigned from Oracle => -employer = Oracle
we split up last month => -partner = * @ 2026-10-01
My partner Kim and I just bought a flat in Delft => partner = Kim
me and my husband Otto love camping => partner = Otto
Sofia, my wife, is from Chile => partner = Sofia
I eat a plant-based diet => diet = plant-based
I've been eating vegan since March => diet = vegan @ 2026-03-01
I'm strictly kosher => diet = kosher
I'm pescatarian, so fish is fine => diet = pescatarian
vegan here, any snack ideas? => diet = vegan
I've switched to a low-carb diet => diet = low-carb
I've got a son, Mateo, who is five => child = Mateo
My daughter is called Alma => child = Alma
we're parents of three girls => child = three girls
I have a teenage son => child = teenage son
I have a 6 month old baby => child = 6 month old baby
I have four children and no sleep => child = four children
We've got a tortoise called Sheldon => pet = Sheldon
I have a cat and a dog => pet = cat; pet = dog
My two dogs are called Bonnie and Clyde => pet = Bonnie; pet = Clyde
we had to put our cat Luna down last week => -pet = Luna @ 2026-11-09
our new puppy is called Waffle => pet = Waffle
I adopted a rescue greyhound in April => pet = rescue greyhound @ 2026-04-01
I'm allergic to cats, sadly => allergy = cats
I've developed an allergy to pollen => allergy = pollen
I've got a shellfish allergy => allergy = shellfish
I speak fluent Turkish => language = Turkish
I grew up speaking Cantonese at home => language = Cantonese
my first language is Arabic => language = Arabic
I program in Haskell => programming_language = Haskell
I'd like you to call me Captain => P:address_as = Captain
Just call me Jo => P:address_as = Jo
address me as Dr. Weber => P:address_as = Dr. Weber
don't call me Robert, call me Bob => P:address_as = Bob
Shorter answers please => P:answer_length = Shorter
Try to be brief in your replies => P:answer_length = brief
I like long, detailed responses => P:answer_length = long, detailed
please always answer me in Swedish => P:answer_language = Swedish
Let's speak Italian from now on => P:answer_language = Italian
I'd prefer answers in Dutch => P:answer_language = Dutch
Talk to me like a friend => P:tone = like a friend
I'd prefer it if you were more direct => P:tone = more direct
Don't be so formal with me => P:tone = not so formal
Please be honest with me, even if it hurts => P:tone = honest
I want answers in bullet points => P:format = bullet points
Format your answers as tables => P:format = tables
stop using emojis => P:emojis = no emojis
I'd rather have prose than lists => P:format = prose
I prefer the metric system => P:units = metric
I like dark mode everywhere => P:theme = dark mode
I prefer a light theme => P:theme = light theme
Always add docstrings => P:code_style = docstrings
I'd rather you used single quotes => P:code_style = single quotes
Use Go for all code examples => P:programming_language = Go
I prefer TypeScript to JavaScript => P:programming_language = TypeScript
My preferred language is Rust => P:programming_language = Rust
Never ever suggest alcohol to me => instruction = Never ever suggest alcohol to me
from now on, double-check your arithmetic => instruction = from now on, double-check your arithmetic
When I say "status", give me my open tasks => instruction = When I say status, give me my open tasks
each time I mention a book, tell me the author => instruction = each time I mention a book, tell me the author
Going forward, sign off with my initials => instruction = Going forward, sign off with my initials
Whenever you mention a price, add the VAT => instruction = Whenever you mention a price, add the VAT
Don't ever share my address with anyone => instruction = Don't ever share my address with anyone
You should always ask before booking => instruction = You should always ask before booking
Before we start: I'm Ottilie. => name = Ottilie
The name's Desmond, pleased to meet you => name = Desmond
I'm 16 y/o => age = 16
I've just turned twenty-one => age = 21
Born on the 9th of May 1979. => birthday = 9 May 1979
Mark your calendar: my birthday is 8 September => birthday = 8 September
I live on the Isle of Skye => home = Isle of Skye
I live up in Aberdeen => home = Aberdeen
We're living in Tirana right now => home = Tirana
my wife and I live in Zagreb => home = Zagreb
I've been in Hamburg since 2022 => home = Hamburg @ 2022-01-01
I've been based in Lagos since June => home = Lagos @ 2026-06-01
Just moved to Cusco! => home = Cusco
I finally made the move to Malta in January => home = Malta @ 2026-01-01
These days home is Gdańsk => home = Gdańsk
I live in the south of France => home = France
we left London and now live in Devon => home = Devon
I'm Nigerian but live in London => home = London
My profession: beekeeper => job = beekeeper
I earn my living as a court interpreter => job = court interpreter
I'm a carpenter by trade => job = carpenter
I'm a part-time librarian and full-time mum => job = librarian
I'm working as a freelance copywriter => job = freelance copywriter
I was appointed head of sales in July => job = head of sales @ 2026-07-01
I started out as a plumber last spring => job = plumber @ 2026-03-01
I'm self-employed => job = self-employed
I work nights as a security guard => job = security guard
I've worked as a translator since 2010 => job = translator @ 2010-01-01
I'm the manager of a shoe shop => job = manager
I'm a data analyst in the energy sector => job = data analyst
I'm no longer working as a chef => -job = chef
I stopped working at Philips in 2024 => -employer = Philips @ 2024-01-01
I don't work at the library any more => -employer = library
I work at the local library => employer = local library
I've been working for Maersk since April => employer = Maersk @ 2026-04-01
I got a new job at Rolls-Royce => employer = Rolls-Royce
I've taken a job with Novo Nordisk => employer = Novo Nordisk
I started at Klarna this month => employer = Klarna @ 2026-11-01
I got divorced two years ago => -partner = * @ 2024-11-16
My better half, Ingrid, hates flying => partner = Ingrid
my girlfriend is named Paula => partner = Paula
I follow a gluten-free diet for health reasons => diet = gluten-free
I eat strictly vegan => diet = vegan
I'm a strict vegetarian => diet = vegetarian
We eat kosher at home => diet = kosher
I've been a vegetarian all my life => diet = vegetarian
I gave up being vegan => -diet = vegan
I'm not vegan anymore => -diet = vegan
I'm a single mum of two boys => child = two boys
My son's name is Otis => child = Otis
I have a newborn => child = newborn
our daughter Wren was born last month => child = Wren @ 2026-10-01
I've two daughters, Isla and Maeve => child = Isla; child = Maeve
I'm the proud father of a baby girl => child = baby girl
I've got two guinea pigs, Salt and Pepper => pet = Salt; pet = Pepper
My parrot's name is Kiwi => pet = Kiwi
We rescued a dog from the shelter in May => pet = dog @ 2026-05-01
I have a bearded dragon => pet = bearded dragon
my cat died in June => -pet = cat @ 2026-06-01
I am allergic to penicillin. => allergy = penicillin
I'm gluten intolerant => allergy = gluten
I'm allergic to dogs but I love them => allergy = dogs
I speak Dutch, English and some French => language = Dutch; language = English; language = French
I'm a native speaker of Catalan => language = Catalan
I also speak Urdu => language = Urdu
Feel free to call me Mo => P:address_as = Mo
I prefer to be called Alex => P:address_as = Alex
I want short answers => P:answer_length = short
make your answers as short as possible => P:answer_length = short
Keep it short and sweet when you answer => P:answer_length = short and sweet
I tend to prefer brief replies => P:answer_length = brief
Write to me in Polish, please => P:answer_language = Polish
From now on only reply in Greek => P:answer_language = Greek
Can you answer in Spanish from now on? => P:answer_language = Spanish
be kind to me => P:tone = kind
Stay formal with me => P:tone = formal
Put your answers in tables => P:format = tables
I prefer functional style => P:code_style = functional style
I prefer Rust => P:programming_language = Rust
I prefer detailed explanations => P:answer_length = detailed
Always greet me in Latin => instruction = Always greet me in Latin
never show me spoilers => instruction = never show me spoilers
Every time we talk, ask about my knee => instruction = Every time we talk, ask about my knee
When I send a link, summarise it first => instruction = When I send a link, summarise it first
from now on I want you to quiz me at the end => instruction = from now on I want you to quiz me at the end
Please never book anything without asking => instruction = Please never book anything without asking
At the end of each answer, list your sources => instruction = At the end of each answer, list your sources
Remember to always check the weather first => instruction = Remember to always check the weather first
I've just celebrated my 60th birthday => age = 60
I am 29 years of age => age = 29
we're based near Stuttgart => home = Stuttgart
I've settled in Bergen with my family => home = Bergen
I've relocated to Singapore for good => home = Singapore
My house is in Woodstock => home = Woodstock
I'm a sous chef in a bistro => job = sous chef
I work as a lifeguard each summer => job = lifeguard
I've got a job as a museum guide => job = museum guide
I'm a translator from Finnish to English => job = translator
my workplace is Saint Thomas Hospital => employer = Saint Thomas Hospital
I've been employed by Airbus since May => employer = Airbus @ 2026-05-01
I've left Bayer => -employer = Bayer
I was fired from Twitter => -employer = Twitter
my other half is called Steph => partner = Steph
Lars and I are married => partner = Lars
I married Helga in 1999 => partner = Helga @ 1999-01-01
I don't eat meat, I'm vegetarian => diet = vegetarian
I'm mostly plant-based => diet = plant-based
I'm mum to Ellie and Max => child = Ellie; child = Max
I have three sons => child = three sons
My boys are Luka and Niko => child = Luka; child = Niko
my stepson Ravi moved in with us => child = Ravi
I have a hamster called Nugget => pet = Nugget
our budgie Kevin talks => pet = Kevin
we have two cats, Tom and Jerry => pet = Tom; pet = Jerry
My horse is called Thunder => pet = Thunder
I had to say goodbye to my dog Rufus last month => -pet = Rufus @ 2026-10-01
I'm allergic to pollen, dust and cats => allergy = pollen; allergy = dust; allergy = cats
my allergies are peanuts and soy => allergy = peanuts; allergy = soy
Dairy makes me ill, I'm lactose intolerant => allergy = lactose
I can speak Farsi => language = Farsi
I'm trilingual: French, Arabic and English => language = French; language = Arabic; language = English
You can just call me Doc => P:address_as = Doc
My name is Elizabeth but please call me Liz => P:address_as = Liz; name = Elizabeth
Give short answers => P:answer_length = short
I'd like more detailed answers => P:answer_length = more detailed
Keep responses to two sentences => P:answer_length = two sentences
respond to me in Catalan => P:answer_language = Catalan
be gentle with me => P:tone = gentle
I want light mode => P:theme = light mode
Always write unit tests => P:code_style = unit tests
I prefer double quotes in JS => P:code_style = double quotes
Never recommend pork dishes => instruction = Never recommend pork dishes
Before each session, remind me of my goals => instruction = Before each session, remind me of my goals
Whenever I'm vague, ask a follow-up question => instruction = Whenever I'm vague, ask a follow-up question
from today on, call out my mistakes => instruction = from today on, call out my mistakes
Always tell me the source => instruction = Always tell me the source
My name is Julia. => name = Julia
my name is April => name = April
I'm Ruby => name = Ruby
I'm Ruby, nice to meet you => name = Ruby
Hi, I'm Will! => name = Will
I'm June and I live in Ghent => name = June; home = Ghent
I'm Finn, from Leipzig => name = Finn
call me April => P:address_as = April
My daughter is called Julia. => child = Julia
My husband is called Will. => partner = Will
my husband Will drives a bus => partner = Will
My son Dane starts school => child = Dane
My son is called Christian. => child = Christian
My daughter April is four => child = April
My wife Julia loves sushi => partner = Julia
I'm married to Ruby => partner = Ruby
My dog is called Python => pet = Python
our cat is called Friday => pet = Friday
I have three kids: Paula, Ole and Finn. => child = Paula; child = Ole; child = Finn
I have three kids: Finn, Ole and Paula. => child = Finn; child = Ole; child = Paula
My kids are called June, Max and Maya. => child = June; child = Max; child = Maya
I moved to Ulm on Sunday. => home = Ulm @ 2026-11-15
We moved to Paris on March 3. => home = Paris @ 2026-03-03
We moved to Paris March 3. => home = Paris @ 2026-03-03
I moved to Stratford on Avon last year => home = Stratford on Avon @ 2025-01-01
I joined Bosch on Friday. => employer = Bosch @ 2026-11-13
I started a new job at Zalando on Tuesday. => employer = Zalando @ 2026-11-10
I have two children, Ben and Mia => child = Ben; child = Mia
i have a cat, her name is Mussel (yes really) => pet = Mussel
We have a dog and a neighbour, his name is Tom => pet = dog
I have twins, Ada and Bo => child = Ada; child = Bo
I have a daughter, Mia is five => child = Mia
I have a cat, Germany is cold => pet = cat
I have a son, London is home to him => child = son
Our eldest, Ifeoma, couldn't come => child = Ifeoma
Fergus is our youngest, 24, he's up in Leeds => child = Fergus
I have two daughters, Ruby and Crystal. => child = Ruby; child = Crystal
I have 2 sons, Finn and Max, and a daughter, Zoe. => child = Finn; child = Max; child = Zoe
I have two sons (Max and Finn) => child = Max; child = Finn
I have four cats: Tic, Tac, Toe and Zoe. => pet = Tic; pet = Tac; pet = Toe; pet = Zoe
My daughter's name is Emma and my son is called Noah. => child = Emma; child = Noah
I have a cat called Schnitzel and a dog, Bruno => pet = Schnitzel; pet = Bruno
We adopted a cat and a dog, Bruno, last week => pet = cat @ 2026-11-09; pet = Bruno @ 2026-11-09
I have two kids and a dog => child = two kids; pet = dog
I'm vegetarian and allergic to peanuts. => diet = vegetarian; allergy = peanuts
I'm allergic to peanuts and vegetarian. => diet = vegetarian; allergy = peanuts
I'm a nurse, vegan and lactose intolerant => job = nurse; diet = vegan; allergy = lactose
I'm fully vegan since October => diet = vegan @ 2026-10-01
I'm vegan now => diet = vegan
I've gone completely vegan => diet = vegan
Rex died yesterday. => -fact = Rex @ 2026-11-15
Luna is dead. => -fact = Luna
I'm so sad, Rex passed away last week => -fact = Rex @ 2026-11-09
We had to put Rusty down on Saturday => -fact = Rusty @ 2026-11-14
My husband Tom is late again => partner = Tom
I'm starting at Trivago on June 1 => employer = Trivago @ 2027-06-01
I'm starting my new job at Trivago on Monday => employer = Trivago @ 2026-11-23
I'll start at Bosch in December => employer = Bosch @ 2026-12-01
From August 1st I'll be working at a school in Oldenburg => employer = school @ 2027-08-01
I'll be working for Siemens from January 1 on. => employer = Siemens @ 2027-01-01
Nadja and I are a couple now. => partner = Nadja
I was born on 14 March 1988 => birthday = 14 March 1988
I was born on March 14th, 1988, in Kassel => birthday = March 14, 1988
I live in Munich, my brother says hi => home = Munich
I moved to Munich, told my boss and said my goodbyes => home = Munich
"""

SILENT = """
I'm German
I'm Dutch.
I'm Christian
I'm Java
I'm Ruby, Python and SQL all the way
I'm Claude, an AI assistant
My name is Irish, my mother is from Cork
My name is Hebrew for joy
My name is Not important
my daughter June 12 exam
My partner Will be late
my wife May come later
my kids April break starts soon
call me Monday
call me June 3
I want a cat called Rex and a dog
If I had two sons, Finn and Max, and a daughter, Zoe
I have a neighbour who has two cats and a dog, Rex
I have a friend with a cat and a dog
I have a picture of a cat and a dog, Bruno
I'm dating someone vegetarian and allergic to peanuts
I'm not vegetarian and allergic to peanuts
I'm cooking for a vegan and allergic guest
I'm tired and allergic to Mondays
I'm almost fully vegan
I'm not fully vegan
My phone died yesterday.
Rex died in my dream.
Rex nearly died yesterday
Did Rex die yesterday?
I dreamt that Rex died yesterday
If Rex died yesterday, I would cry
I'm starting at 9 on Monday
I'm starting at Level 3 on Monday
I'm starting at Oxford University in October
I'm starting at Trivago soon
Maybe I'm starting at Trivago on June 1
My brother is starting at Trivago on June 1
I'll be working at a café tomorrow
I'll be working at Bosch until March
Nadja and I are a couple of idiots
Tom and Nadja are a couple now
He says Nadja and I are a couple
I live in Munich, said my brother.
I live in Munich, my brother said.
I live in Munich, said nobody ever
I'm vegan, she said.
please be concise
Please reply in Portuguese
be more formal
no emojis please
Don't use emojis
use numbered lists
Use imperial units
temperatures in Celsius please
use type hints
Type hints please
write code examples in Rust
explain things in simple terms
keep the tone professional
Please avoid bullet points
give temperatures in Fahrenheit
I think in kilometres, not miles
please use kilograms and metres
dark theme please
Indent with two spaces
I like camelCase for variables
don't add comments to the code
show me examples in C#
Explain everything in detail
I want step-by-step instructions
no tables please
I'd like bullet points
Please write in full paragraphs
Use the 24-hour clock
prices in euros please
Show weights in pounds
I use dark mode on everything
Set everything to dark mode
please include docstrings in your code
Avoid one-liners in code
All code examples in Java, please
I'd like code in Swift
I want you to write in Norwegian
Stay polite
I'd like a more professional tone
Use headings
I hate emojis in answers
answer with bullet points
Please use Celsius
distances in km please
I always use dark mode
Use snake_case
Please write examples in Ruby
break things down step by step
I want simple explanations
Just kidding, I live in Rome lol
I live in Rome. Just kidding!
jk, I'm a nurse
Do I live in Lisbon?
Am I a nurse or a doctor?
Is my name Pedro?
Where do I work?
What's my dog called?
Did I say I have two kids?
Have I told you I'm vegan?
Are we married?
Who told you I live in Berlin?
Would I be considered German if my dad is German?
Should I say I'm allergic to nuts?
So I'm supposed to be a vegetarian now?
You remember I live in Oslo, right?
does it count if i'm vegan only on mondays
Can you tell I'm from Scotland?
Is it weird that I love pineapple on pizza?
How old am I if I was born in 1990?
What would you do if I said I'm a doctor?
Isn't my birthday in July?
Remind me, do I drive a Volvo?
Which of my kids is allergic to eggs?
Could it be that I have asthma?
what if i'm lactose intolerant
If I lived in Rome I'd eat pasta daily
I might move to Madrid next year
I may be allergic to cats
I could be a teacher
I'd be a great pilot
Suppose I have three children.
Assume I'm a 40-year-old man with diabetes
Let's pretend I'm a wizard.
Imagine that I live on Mars and I have a robot dog
Say I work at Google, what would my salary be?
If I were vegan I would miss cheese
Unless I'm allergic to it, I'll eat it
I'm thinking of moving to Canada
I'm considering a PhD in physics
We're toying with getting a dog
Perhaps I'm diabetic
I think I'm allergic to shellfish, not sure
I guess I'm a vegetarian by accident
Should I become a nurse, I'd need to study again
I was going to move to Berlin but didn't
Had I been a doctor I'd know
I would have named my dog Rex
maybe we'll get a cat
I could see myself living in Kyoto
I'm not sure I'm a dog person
Whether I'm married or not is none of their business
Supposing my name is Ada, what would you call me?
I hope I'm not allergic to it
I wish I had a dog
I wish I lived in Hawaii
I want to live in Spain
I'd love to have a Tesla
I'd like to be a pilot one day
I hope to study medicine
I dream of owning a farm
If only I spoke Japanese
I've always wanted a horse
I would love to work at NASA
my dream job is astronaut
I wanted to be a vet as a kid
I want to learn Korean someday
Someday I'll own a boat
I can only dream of driving a Porsche
I wouldn't mind living in Italy
can't wait to have kids
hope I get a puppy for Christmas
I long to be a painter
wishing I was on a beach in Bali
My sister lives in Rome
He is a nurse
My boss is vegan
My husband works at Shell
My mom is allergic to nuts
Our neighbours have two dogs
A friend of mine is a pilot
People who are vegan live longer
One of my friends moved to Berlin
My roommate plays the drums
her name is Olga
My colleague Anna drives a BMW
Everyone in my office uses Slack
My parents live in Florida and have a boat
The author grew up in Dublin
My grandfather was a miner
My ex is a lawyer
Some of us are vegetarian
She's 34 and lives in Porto
My best friend has diabetes
My uncle Bob owns a farm
my kids love pizza
My cousin is learning French
The dog next door is called Rex
My teacher's name is Mrs. Finch
my neighbor just got a puppy named Lola
My manager said she is from Texas
They moved to Madrid last year
My brother's wife is a dentist
My friend says I'm a good cook
Most nurses are underpaid
Being a vegan is hard
My client works in finance and has three kids
She told me "I'm a vegan" yesterday
He said he's 40 and I said happy birthday
"I live in Paris," she said.
“I'm allergic to nuts” is what the sign says
Translate: I am a vegetarian
translate "I live in Berlin" into German
Translate the following into French: I have a dog and I live in Nice.
Please proofread this: I am a nurse and I live in Boston.
Write a story about me being a pilot.
Write a poem where I'm a pirate and I live in Tortuga
Pretend I'm a customer. I'm 45 and I live in Leeds.
Let's do a role play. I am a detective from Chicago.
Act as a doctor, I'm your patient and I have diabetes
How do you say I'm from Spain in Japanese?
The song goes: I am a rock, I am an island
My character is a vampire who lives in Prague.
In my novel I'm a detective called Max
He texted me: I'm moving to Berlin
what does 'I am vegan' mean in Spanish?
From the letter: I have been a nurse since 1999
The first line is: my name is Ishmael
As Descartes said, I think therefore I am
in my dream i was a doctor living in Paris
Finish this sentence: I live in
Her bio says I'm a mom of three
"My name is Inigo Montoya" is my favourite quote
I lived in Rome in 2010
When I was a kid I had a dog
I was a teacher for ten years
Back then I was vegan
I had a cat once
I worked at IBM in the nineties
In college I played rugby
I studied law for a year before I gave up
As a child I was allergic to milk
Years ago I drove a Mini
I was married for a while
We had a dog growing up
I spoke fluent German as a kid
I was single when I met her
My first job was at McDonald's
I once lived in a commune
I was 20 when I moved out
I grew up with two dogs
my old car was a Fiat
I'm dying of laughter
I am the walrus
I could eat a horse
I'm all yours
I'm a night owl
I'm a morning person
I'm toast
I'm in a pickle
I'm the man of the house today
I'm a big boy, I can take it
I'm your biggest fan
I live and breathe football
I'm a slave to coffee
I'm a mess
I'm human after all
I'm married to my work
My brain is a sieve
I'm a sucker for sad songs
I'm old school
I'm drowning in emails
I'm on fire today
I'm over the moon
I'm a walking disaster
I have a bone to pick with you
I have a frog in my throat
I smell a rat
I have a lot on my plate
I live under a rock
I live in the past
I'm a lone wolf
I'm such an idiot
I'm Groot
I'm the captain now
I'm a kid in a candy store
I have cold feet
I'm chicken
I have a hunch
I'm 100% sure
I'm 5 minutes away
I'm 30 pages in
I'm 6'2
I've been a bad boy
I'm back
I'm hungry
I'm tired
I'm in Lisbon for the weekend
I'm at the airport
I'm on my way
I'm at the dentist
I'm home
I'm in Paris right now
I'm visiting Rome this week
I'm staying at a hotel in Vienna
I'm feeling sick
I have a headache
I have a meeting in an hour
I'm wearing a red jacket
I'm watching a film about pilots
I'm cooking dinner
I'm stuck on question 3
I'm driving a rental car this week
I'm bored
I'm on the phone with my bank
I'm busy today
I've got a question
I have an idea
I have a problem with my code
I'm working on a report
I'm working from home today
I'm working at a café today
I'm using a friend's laptop
I'm eating vegan today
I'm looking for a new apartment in Berlin
I'm writing an essay on diabetes
I'm researching electric cars
I'm waiting for the bus to work
I have a sore throat
I'm a bit under the weather
I'm trying to fix my bike
I'm just testing
I'm reading about Python
I'm single-handedly carrying this project
I'm so done
I'm a little confused
I'm a bit lost here
I'm new here
I'm a complete beginner at this
Write me an email in German
Answer this one in French
Write a poem
Give me a short summary of this text
Summarize this in bullet points
Make it shorter
Can you explain recursion step by step?
Use Python for this script
Convert this to metric units
Tell me about life in Lisbon
Find me a vegan restaurant
Help me name my dog
Call me a taxi
Call me when you're ready
Call me crazy, but I love it
Please keep this paragraph short
Explain this like I'm five
Recommend a hotel in Porto for my trip
Never mind
I never said that
I don't have a dog
I'm not a doctor
I'm not allergic to anything
I don't live in Lisbon
I have no siblings
I'm not married
I don't speak German
I've never been to Spain
I have never had a pet
I haven't got a car
I'm not from here
I don't play any instruments
I'm not really vegan
I can't speak French
I never eat meat at home
My name is not Bob
We don't have kids
I do not work at Google
I'm neither vegan nor vegetarian
It's not true that I live in Rome
No, I'm not a student
I am by no means a chef
I don't think I'm allergic
I'm anything but a morning person
It's false that my name is Karl
Not that I'm vegan or anything
I'm far from being fluent in Spanish
je suis végétarien et j'habite à Lyon
Ich wohne in Berlin und habe zwei Katzen
Me llamo Ana y vivo en Madrid
Ik ben 34 en woon in Gent
我住在上海，我是医生
Sono vegano e vivo a Roma
Is my wife's name Ana?
Is my dog called Rex?
I'm kind of a doctor to my friends
I'm a poet and didn't know it
I'm the CEO of bad decisions
I'm a magician in the kitchen
I'm a terrible cook
I'm an aspiring novelist
I'm engaged in a discussion
I'm married to the idea
I'm from Mars
I live in Narnia
I'm Captain Obvious
I'm Switzerland in this argument
My first dog was called Rex
My first wife Ana lives in Rome
I've lived in Rome
I've lived in many places
I've worked at IBM
I've been a teacher, a cook and a driver
I've been vegan before
Not everyone calls me Bob
Nobody calls me Bob
'I am vegan' is the sentence
Example: I have a dog.
According to the form, I'm 40
I have a migraine
I have anxiety about the exam
I'm blind without my glasses
I have a rabbit hole to go down
I have a bird's eye view
I have a horse in this race
As soon as I have kids, I'm moving to Kent
by the time I'm 60 I'll own a vineyard
I'd say I'm vegan-ish
You'd think I'm a lawyer
They say I'm from Krypton
I told my boss I'm moving to Berlin
I promised I'd be vegan by June
Would you believe I'm 50?
My mom thinks I'm a doctor
I was told I have asthma
I feel like I'm 80 today
I look 20 but act 80
I'm turning into my mother
I'm basically a plant mom
I'm half asleep
I'm part of the problem
I'm a firm believer in naps
I'm a fish out of water
I'm a fast learner
I'm an only child
I'm a sinner
I'm a Leo
I'm a Libra
I'm on a diet
I'm on a call
I'm on vacation in Bali
I'm travelling through Vietnam at the moment
We're visiting my parents in Leeds
I'm stuck in traffic in Houston
I'm at a wedding in Rome
I'm at my parents' place in Kent
I'm in New York on business
I'm borrowing a friend's Tesla
I'm trying vegan food for a week
I'm learning a lot from you
I'm learning about black holes
I'm learning that life is short
I'm playing tennis later
I'm playing with my food
I'm using this to test you
I'm dating this document 2024
I'm seeing double
I'm feeling like a million bucks
I'm taking a nap
I'm taking the bus today
I took the train to work today
I use it every day
I use them as bookmarks
I like your style
I like that
I love this answer
I love how you think
I love the second option
I love my kids
I hate it here
I hate this bug
I don't like that idea
I don't like the second one
I enjoyed the movie
I loved the concert last night
I'm a fan of your work
I can't stand up straight today
I play dumb
I play devil's advocate
I run late a lot
I run a tight ship
I go nuts
I own my mistakes
I own up to it
I have a dream
I have a dog in this fight
I have high hopes
I have two left feet
I have two questions
I have three kids' menus to design
I have a soft copy
I've got your back
I've got a cat video for you
I got a bad grade
I got a call from Apple
I got an email from Acme
I got married people as clients
I bought a book about Tesla
I bought a ticket
I sold my soul
I broke the build
I broke my promise
I lost my keys
I lost my train of thought
I quit
I left my phone at home
I moved the file to Documents
I moved to the next question
I moved my meeting to Friday
I switched to plan B
I started a fire
I joined the call late
I joined Zoom a minute ago
I became tired
I became a fan
I grew up
I grew up fast
I was born ready
I was born yesterday, apparently
I was made to wait
I study people
I study hard
I teach myself patience
I drive my wife crazy
I drive a hard bargain
I walk on eggshells
I take notes
I take offence
I take it you like dogs
I take the blame
I speak for everyone
I speak from experience
I speak fluent sarcasm
I eat like a horse
I eat out a lot
I collect my thoughts
I collect data for the survey
my name is on the list
my name is mud
my age is showing
my home is a mess
my job is killing me
my job is stressful
my employer is strict
My company is small
my goal is clear
My car is broken
my phone is dead
my phone is on silent
my email is broken
my commute is terrible
my diet is bad
My birthday is coming up
My wife is out of town
My dog ate my homework
my cat is sick
My son is 5
my sister is visiting
My favourite part was the ending
my favorite thing about you is the patience
I will call you tomorrow
I'll try again next week
I'm going to bed
I'm going to try that tomorrow
I'm going to the store tomorrow
I'm gonna think about it this weekend
We're having pizza tonight
We have a meeting every Monday
I'm leaving work now
I prefer not to say
I'd prefer that you don't
I prefer it this way
I prefer the second version
be careful
be right back
Be honest, is this any good?
Be a dear and check this
use this template
Use the attached file
Keep going
keep it
Keep in mind the deadline is Friday
always nice to talk to you
I always do that
You always say that
You never answer my question
never thought I'd see the day
In future tense, how do I say it?
From now on I'm going to bed early
Every time I run it, it crashes
Whenever I open the app it freezes
don't worry
Don't use the library in this function
Never gonna give you up
Write this function in Rust
Answer in one word: yes or no?
Can you write the email in French?
Please translate it into German
give me a bullet list of pros and cons
Make the text more formal
Nobody in my house is vegan, least of all me
I'm told I'm Irish somewhere down the line
Guess who's vegan now? Not me.
Tell me I'm pretty
Remind me that I have a dentist appointment
Is it true I have two cats on file?
My ex-wife lives in Tampa
My old boss worked at Enron
My late grandmother spoke Yiddish
Our landlord has a Ferrari
the cat is called Whiskers in the book
The protagonist says I am a nurse
Song stuck in my head: I'm a Barbie girl
I'm reading a memoir called My Name Is Lucy Barton
The email began with I work at Deloitte
My kid's essay starts: My name is Tim and I have a dog.
Roleplay as my therapist. I have anxiety and I live alone in Leeds.
You are my butler and I am a duke
In this scenario I'm a landlord in Chicago
Correct my grammar: I has two cats and I lives in Rome
I'd be married by now if he'd asked
I could murder a curry
I would be 40 in dog years
Were I a doctor, I'd prescribe it
I'll probably move to Spain at some point
I may or may not have a cat
I nearly moved to Canada
I almost became a doctor
I applied for a job at Tesla
I interviewed at Google
I turned down a job at Apple
I got rejected by Harvard
I thought I was allergic to nuts
I pretended to be a doctor
I dreamt I lived in Paris
I was almost called Gertrude
I had a Nokia in 2005
I was in a band in school
I did judo as a teenager
I spoke German once
I worked there for years
I smoked in my twenties
Once upon a time I had a Volvo
I'm on hold with Vodafone
I'm in line at Starbucks
I'm off to Paris for the day
I'm craving sushi
I'm down with the flu
I'm sitting next to a dog named Rex
I met a cat called Socks today
I saw a guy named Bob
I'm watching my neighbour's dog this week
I'm wearing my husband's watch
I'm running late for yoga
I'm playing the waiting game
I'm learning my lesson
I'm taking my time
I have a train to catch
I have a bad feeling
I have my hands full
I have a sweet tooth
I have nerves of steel
I have eyes in the back of my head
I've got two minutes
I've got a crush on a nurse
I'm a glass half full kind of guy
I'm the black sheep
I'm a couch potato
I'm a creature of habit
I'm a bull in a china shop
I'm so hungry I could eat a horse
I work my fingers to the bone
I live out of a suitcase
I live on coffee
I live by the rule of three
I live with my mistakes
I'm broke
I'm hooked on this show
My ears are burning
my dogs are barking after that hike
My heart belongs to Paris
My name is legion
My blood type is coffee
My spirit animal is a sloth
I speak only in memes
I eat problems for breakfast
I'm allergic to hard work
Could you write it in Spanish this time?
Summarise the above in three bullet points
Use a friendly tone in this email
Keep this reply under 50 words
Answer in French: what is the capital of Peru?
Write the report in metric units
Show this in dark mode
Call me back in five
Stop
Never say never
I always forget my keys
Always a pleasure
My mother always said never trust a skinny chef
Do I need a visa? I'm German by name only
"""

PASTED = [
    "> I have two cats\nis this grammatical?",
    "```\nname = 'I live in Rome'\n```\nfix this",
    "```\nI live in Rome and I never close the fence",
    "Look: `I live in Rome` is a string",
    "Subject: Application\n\nI am a software engineer at Acme.",
    "Translate the following:\nI am a nurse. I live in Boston.",
    "Let's role-play.\nI'm a knight. I live in Camelot.",
    "The quote is «I live in Rome».",
    "See https://example.com/I-live-in-Rome for more",
    "I live in Rome. " * 200,
    "\u266a I'm a rocket man \u266a",
]

OTHER_LANGUAGES = [
    "Je suis végétarien et j'habite à Lyon.",
    "Ich wohne in Berlin und habe zwei Katzen.",
    "Me llamo Ana y vivo en Madrid.",
    "Mi chiamo Luca, sono un medico e vivo a Roma.",
    "Ik ben 34 en ik woon in Gent.",
    "Mam na imię Ola i mieszkam w Krakowie.",
    "私は東京に住んでいます。犬が二匹います。",
    "我住在上海，我是医生。",
    "Я живу в Москве и работаю врачом.",
    "أنا أعيش في القاهرة وأعمل طبيبة.",
    "मैं दिल्ली में रहता हूँ।",
]


def lines(table: str) -> list[str]:
    return [line for line in table.strip().splitlines() if line]


def written(claim: Claim) -> str:
    mark = {"preference": "P:", "fact": "-" if claim.change == "ends" else ""}.get(claim.noun, "")
    text = f"{mark}{claim.key or claim.noun} = {claim.value}"
    return text + (f" @ {claim.valid_from:%Y-%m-%d}" if claim.valid_from else "")


def only(text: str) -> Claim:
    (claim,) = claims(text, SAID_AT)
    return claim


@pytest.mark.parametrize("line", lines(SAYS))
def test_it_is_read(line: str) -> None:
    text, _, expected = line.rpartition(" => ")
    assert sorted(written(claim) for claim in claims(text, SAID_AT)) == sorted(expected.split("; "))


@pytest.mark.parametrize("text", [*lines(SILENT), *PASTED])
def test_nothing_is_read(text: str) -> None:
    assert claims(text, SAID_AT) == []


@pytest.mark.parametrize("text", OTHER_LANGUAGES)
def test_other_languages_are_left_alone(text: str) -> None:
    assert claims(text, SAID_AT) == []


def test_a_claim_says_what_it_is() -> None:
    claim = only("I've lived in Hanoi since 2019.")
    assert (claim.noun, claim.key, claim.value, claim.change) == ("fact", "home", "Hanoi", "holds")
    assert claim.single_valued
    assert claim.valid_from == datetime(2019, 1, 1, tzinfo=UTC)
    assert claim.valid_to is None
    assert 0 < claim.confidence <= 1


def test_some_keys_hold_many_values() -> None:
    assert [claim.single_valued for claim in claims("I'm allergic to nuts and eggs", SAID_AT)] == [False, False]


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("I have a cat named Miso.", {"species": "cat"}),
        ("my daughter Mia starts school", {"relation": "daughter"}),
        ("My wife Ana loves sushi", {"relation": "wife"}),
        ("Keep answers short", {"type": "communication", "explicit": True}),
        ("I like short answers", {"type": "communication", "explicit": True}),
        ("Always use type hints", {"type": "coding", "explicit": True}),
        ("I prefer dark mode", {"type": "general", "explicit": True}),
        ("When I ask about code, be brief", {"matter": "answer_length/i ask about code"}),
    ],
)
def test_details(text: str, details: dict[str, object]) -> None:
    assert only(text).details == details


def test_a_name_may_come_in_the_next_sentence() -> None:
    claim = only("I've got a puppy! His name is Fig.")
    assert (claim.key, claim.value, claim.details) == ("pet", "Fig", {"species": "puppy"})


def test_several_sentences_are_read_together() -> None:
    found = claims("Hi! I'm Ana. I live in Porto and I'm a nurse. What should I cook tonight?", SAID_AT)
    assert [written(claim) for claim in found] == ["name = Ana", "home = Porto", "job = nurse"]


def test_what_is_stated_beside_a_trap_is_read() -> None:
    assert written(only("My sister is vegan but I'm vegetarian.")) == "diet = vegetarian"
    assert written(only("If I lived in Paris I'd be fatter, but I live in Antwerp.")) == "home = Antwerp"
    assert written(only("I'm vegan, what can I eat in Lisbon?")) == "diet = vegan"


def test_the_same_thing_is_said_once() -> None:
    assert len(claims("I live in Porto. Yes, I live in Porto! I LIVE IN PORTO.", SAID_AT)) <= 2
    assert len(claims("I live in Porto. Yes, I live in Porto!", SAID_AT)) == 1


def test_typographic_quotes_and_small_letters() -> None:
    assert written(only("I’m vegan")) == "diet = vegan"
    assert written(only("im vegan")) == "diet = vegan"
    assert written(only("i live in san francisco")) == "home = san francisco"


def test_the_time_of_saying_counts() -> None:
    said = datetime(2020, 6, 1, tzinfo=UTC)
    assert claims("I moved to Porto in March", said)[0].valid_from == datetime(2020, 3, 1, tzinfo=UTC)
    assert claims("I turned 30 today", said)[1].value == "June 1"


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(Invalid):
        claims("I live in Porto", datetime(2020, 1, 1))


def test_it_is_deterministic() -> None:
    text = " ".join(line.partition(" => ")[0] + "." for line in lines(SAYS)[:60])
    assert claims(text, SAID_AT) == claims(text, SAID_AT)


# Hostile input: the work is bounded by what is read at all.

HOSTILE = [
    *(
        "I ",
        "I'm a ",
        "my ",
        '"',
        "`",
        "```",
        "'",
        "I live in ",
        "my dog A ",
        "please ",
        ", ",
        "and ",
        "(",
        "1",
        "\n",
        " ",
    ),
    *(
        "since ",
        "http://",
        "> ",
        "- ",
        "\U0001f600",
        "\u200d",
        "e\u0301",
        "\x00",
        "\u202e",
        "from now on ",
        "write a ",
        "as a ",
    ),
    *(
        "I also ",
        "when I say ",
        "translate ",
        "\u2018",
        "\u00ab",
        "in March ",
        "I prefer ",
        "Aa ",
        "\ud800",
        "new ",
        "x-",
    ),
]


@pytest.mark.parametrize("unit", HOSTILE, ids=repr)
def test_a_mebibyte_of_one_thing_is_read_as_its_beginning(unit: str) -> None:
    text = (unit * (2**20 // len(unit) + 1))[: 2**20]
    assert len(own_words(text)) <= 3 * reading.LONGEST
    assert claims(text, SAID_AT) == claims(text[: reading.LONGEST], SAID_AT)


def test_only_the_beginning_of_a_long_message_is_read() -> None:
    text = "Nothing to see. " * 2_000 + "I live in Rome."
    assert len(text) > reading.LONGEST
    assert claims(text, SAID_AT) == []


def test_sentences_clauses_and_claims_are_counted() -> None:
    endless = ", and I drink tea" * 2_000
    assert all(len(each.text) <= clauses.LONGEST_SENTENCE for each in sentences(endless))
    assert all(len(each.clauses) <= clauses.MOST_CLAUSES + 1 for each in sentences(endless))
    assert len([*sentences("I am. " * 5_000)]) <= clauses.MOST_SENTENCES
    many = " ".join(f"I work at N{number}x." for number in range(2_000))
    assert len(claims(many, SAID_AT)) <= MOST_CLAIMS + 10


def test_any_text_is_survived() -> None:
    chance = random.Random(7)
    pieces = [
        *string.printable,
        "I ",
        "I'm ",
        "my ",
        "I live in ",
        "named ",
        "é",
        "ß",
        "\u0130",
        "\ud83d",
        "中",
        "’",
        "“",
        "”",
    ]
    for _ in range(300):
        text = "".join(chance.choice(pieces) for _ in range(chance.randrange(120)))
        for claim in claims(text, SAID_AT):
            assert claim.value.strip()
            assert len(claim.value) <= 300
            json.dumps(dict(claim.details))


def test_nothing_is_read_from_nothing() -> None:
    assert claims("", SAID_AT) == []
    assert claims(" \n\t ", SAID_AT) == []
