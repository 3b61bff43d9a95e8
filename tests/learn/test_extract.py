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

# Each line is a message and its claims: "-key" ends, "P:" is a preference, "@" is since when, "#" when it is planned.
SAYS = """
My name's Oluwaseun, nice to meet you => name = Oluwaseun
i'm called Bartholomew but don't laugh => name = Bartholomew
I am Ana and I live in Braga => name = Ana; home = Braga
Hey, I'm Tomasz! => name = Tomasz
hi there, Jonas here => name = Jonas
My full name is Maria del Carmen Ruiz. => name = Maria del Carmen Ruiz
my friends call me Ziggy => nickname = Ziggy
My nickname is Sparky => nickname = Sparky
I go by Kit => nickname = Kit
People usually call me Lex => nickname = Lex
I am thirty-seven years old => age = 37
I'm 52 years old and feeling it => age = 52
I turned 40 last week => age = 40 @ 2026-11-09
im 23 btw => age = 23
I'm a 28-year-old teacher from Leipzig => age = 28; hometown = Leipzig; job = teacher
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
I'm from Naples originally => hometown = Naples
I'm originally from Cork => hometown = Cork
I was born and raised in Kyiv => hometown = Kyiv
My hometown is Split => hometown = Split
I grew up near Turin => hometown = Turin
I hail from Yorkshire => hometown = Yorkshire
I'm Brazilian => nationality = Brazilian
I'm half Italian, half Greek => nationality = half Italian, half Greek
i'm canadian eh => nationality = canadian
I am a Swiss citizen => nationality = Swiss
My nationality is Finnish => nationality = Finnish
I have a Polish passport => nationality = Polish
I'm a software engineer => job = software engineer
I work as a midwife in a busy hospital => job = midwife
I'm working as a barista for now => job = barista
my job is translating legal documents => job = translating legal documents
I got promoted to team lead last month => job = team lead @ 2026-10-01
I'm a nurse at Mercy Hospital => job = nurse; employer = Mercy Hospital
I got a job at Beta as a designer => job = designer; employer = Beta
I became a lawyer in 2018 => job = lawyer @ 2018-01-01
I've been working as an electrician for ten years => job = electrician @ 2016-11-16
I'm the CTO of Nimbus => job = CTO; employer = Nimbus
I'm an English teacher => job = English teacher
As a nurse, I see this a lot => job = nurse
I'm retired => job = retired
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
I'm studying biology => studies = biology
I study physics at Uppsala University => studies = physics; school = Uppsala University
I'm majoring in economics => studies = economics
I'm doing a PhD in linguistics => studies = linguistics
I have a master's in chemistry => studies = chemistry
I'm a history major => studies = history
I'm a medical student at Charité => school = Charité
I go to Boston College => school = Boston College
I attend the Technical University of Munich => school = Technical University of Munich
I'm married => relationship_status = married
I'm happily divorced => relationship_status = divorced
I'm single again => relationship_status = single
i'm in a long-distance relationship => relationship_status = in a long-distance relationship
I got married last month => relationship_status = married @ 2026-10-01
I've been married for six years => relationship_status = married @ 2020-11-16
I'm engaged to Pedro => relationship_status = engaged; partner = Pedro
I'm married to Joana => relationship_status = married; partner = Joana
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
I drive a Toyota Yaris => car = Toyota Yaris
I bought a Tesla Model 3 in April => car = Tesla Model 3 @ 2026-04-01
My car is an old Volvo V70 => car = old Volvo V70
I sold my Honda Civic => -car = Honda Civic
I use a Pixel 8 => phone = Pixel 8
My phone is a Samsung Galaxy S21 => phone = Samsung Galaxy S21
I upgraded to an iPhone 15 Pro yesterday => phone = iPhone 15 Pro @ 2026-11-15
I bike to work => commute = bike
I commute by train => commute = train
I take the bus to work => commute = bus
I cycle to work every day => commute = cycle
My commute is 40 minutes => commute = 40 minutes
I get to work by tram => commute = tram
my email is ana@example.org. => email = ana@example.org
You can reach me at joe.b@example.net => email = joe.b@example.net
I have two kids => child = two kids
I have a daughter named Mia => child = Mia
We have a 3-year-old son => child = 3-year-old son
my daughter Ines is starting school => child = Ines
My kids are called Ana and Rui => child = Ana; child = Rui
We just had a baby girl => child = baby girl
I'm a father of two => child = two children
I have twins => child = twins
I have an older sister => sibling = older sister
I have two brothers => sibling = two brothers
my brother Paul plays chess => sibling = Paul
My sister's name is Karin => sibling = Karin
I have a twin sister called Eva => sibling = Eva
My mother's name is Rosa => parent = Rosa
my dad's called Ivan => parent = Ivan
My father passed away in March => -parent = father @ 2026-03-01
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
I hate olives => dislike = olives
I can't stand cilantro => dislike = cilantro
I don't like horror movies => dislike = horror movies
I dislike loud bars => dislike = loud bars
I really don't like mushrooms => dislike = mushrooms
I'm not fond of seafood => dislike = seafood
I love sushi => like = sushi
I really like Portuguese wine => like = Portuguese wine
I enjoy long walks => like = long walks
My favourite band is Radiohead => like = Radiohead
my favorite color is teal => like = teal
I love Thai food and old films => like = Thai food; like = old films
I'm into synthwave => like = synthwave
I'm obsessed with crosswords => like = crosswords
My hobbies are knitting and chess => hobby = knitting; hobby = chess
I collect vinyl records => hobby = collecting vinyl records
I do pottery => hobby = pottery
I go hiking every weekend => hobby = hiking
I took up photography last year => hobby = photography @ 2025-01-01
In my free time I paint => hobby = paint
I speak French and a little German => language = French; language = German
I'm fluent in Mandarin => language = Mandarin
My mother tongue is Basque => language = Basque
I'm a native Spanish speaker => language = Spanish
I can speak Dutch => language = Dutch
I'm learning Italian => learning = Italian
I'm teaching myself Rust => learning = Rust
I started learning piano in June => learning = piano @ 2026-06-01
I'm taking guitar lessons => learning = guitar
I've been learning Arabic for two years => learning = Arabic @ 2024-11-16
I'm learning to code => learning = code
I use Neovim => tool = Neovim
I code in Go => tool = Go
I mostly use Python and Rust => tool = Python; tool = Rust
my editor is Helix => tool = Helix
I switched to Linux last year => tool = Linux @ 2025-01-01
I write all my code in TypeScript => tool = TypeScript
We use Jira at work => tool = Jira
I stopped using Notion => -tool = Notion
I no longer use Slack => -tool = Slack
I own a sailboat => possession = sailboat
I have a 3D printer => possession = 3D printer
I bought a motorcycle in May => possession = motorcycle @ 2026-05-01
I've got a Nintendo Switch => possession = Nintendo Switch
I sold my motorbike => -possession = motorbike
I have type 1 diabetes => health = type 1 diabetes
I have asthma => health = asthma
I suffer from migraines => health = migraines
I was diagnosed with celiac disease last year => health = celiac disease @ 2025-01-01
I broke my wrist last week => health = broke my wrist @ 2026-11-09
I'm diabetic => health = diabetic
I take levothyroxine => health = levothyroxine
I'm pregnant => health = pregnant
I play football => sport = football
I go running every morning => sport = running
I do yoga => sport = yoga
I practice karate => sport = karate
I swim twice a week => sport = swim
I've been playing padel since last summer => sport = padel @ 2026-06-01
I used to play rugby => -sport = rugby
I'm flying to Japan in June => plan = flying to Japan # 2027-06
We're moving to Berlin next month => plan = moving to Berlin # 2026-12
I have a job interview on Friday => plan = job interview # 2026-11-20
We booked a holiday in Crete for July => plan = holiday in Crete # 2027-07
I'm running the Berlin marathon in September => plan = running the Berlin marathon # 2027-09
my goal is to run a marathon => goal = run a marathon
I'm trying to lose weight => goal = lose weight
I'm training for a triathlon => goal = training for a triathlon
I'm saving for a car => goal = saving for a car
I play the cello => instrument = cello
I play guitar and drums => instrument = guitar; instrument = drums
I've been playing piano since I was six => instrument = piano
I can play the ukulele => instrument = ukulele
Please call me Sam => P:address_as = Sam
you can call me Al => P:address_as = Al
keep answers short => P:answer_length = short
Keep your replies brief, please. => P:answer_length = brief
please be concise => P:answer_length = concise
I prefer short answers => P:answer_length = short
The market. And I prefer short answers, by the way. => P:answer_length = short
Oh, and I prefer dark mode => P:theme = dark mode
But I prefer tea to coffee => P:prefers_tea = tea over coffee
give me detailed answers => P:answer_length = detailed
Please reply in Portuguese => P:answer_language = Portuguese
Speak to me in Spanish from now on => P:answer_language = Spanish
be more formal => P:tone = more formal
I prefer a casual tone => P:tone = casual
no emojis please => P:format = no emojis
Don't use emojis => P:format = no emojis
use numbered lists => P:format = numbered lists
I prefer bullet points => P:format = bullet points
Use imperial units => P:units = imperial
temperatures in Celsius please => P:units = Celsius
I prefer dark mode => P:theme = dark mode
use type hints => P:code_style = type hints
Type hints please => P:code_style = Type hints
I prefer 4 spaces over tabs => P:code_style = 4 spaces
I prefer Python over Java => P:programming_language = Python
write code examples in Rust => P:programming_language = Rust
explain things in simple terms => P:detail = simple terms
I prefer tea to coffee => P:prefers_tea = tea over coffee
I prefer window seats => P:prefers_window_seats = window seats
Never use my last name => instruction = Never use my last name
From now on end every answer with a question. => instruction = From now on end every answer with a question
Whenever I paste code, look for bugs first => instruction = Whenever I paste code, look for bugs first
Every time I ask for a recipe, list the allergens => instruction = Every time I ask for a recipe, list the allergens
please always include a summary at the end => instruction = please always include a summary at the end
In future, don't suggest restaurants with meat => instruction = In future, don't suggest restaurants with meat
Name is Wanda, by the way. => name = Wanda
I should introduce myself, I'm Farid. => name = Farid
My mates call me Tiny because I'm 6'5 => nickname = Tiny
Back home they call me Chuy => nickname = Chuy
I'm fifty. => age = 50
I recently turned 65, so pension questions incoming => age = 65
Turning 30 felt weird, I'm 31 now => age = 31
My date of birth is 14/02/1991 => birthday = 14/02/1991
my birthday falls on the 3rd of August => birthday = 3 August
I celebrate my birthday on June 30 => birthday = June 30
Been living in Seville for two years now => home = Seville @ 2024-11-16
My family and I live in Tbilisi. => home = Tbilisi
I settled in Perth after uni => home = Perth
I rent a studio in Lyon => home = Lyon
we've bought a house in Galway => home = Galway
I packed up and moved to Riga two weeks ago => home = Riga @ 2026-11-02
I live just outside Bristol => home = Bristol
I live in a small village near Salamanca => home = Salamanca
my flat is in Brno => home = Brno
home for me is Trieste => home = Trieste
I call Vancouver home => home = Vancouver
I live in Kraków, Poland => home = Kraków
I moved out of Bristol => -home = Bristol
Grew up in Marseille, hence the accent => hometown = Marseille
I'm a Glasgow native => hometown = Glasgow
I'm from a tiny town called Ålesund => hometown = Ålesund
As a Norwegian, I find this funny => nationality = Norwegian
I'm of Greek nationality => nationality = Greek
I make my living as a piano tuner => job = piano tuner
I'm a junior doctor on the night shift => job = junior doctor
I do accounting for a living => job = accounting
I'm a freelance photographer based in Turin => job = freelance photographer; home = Turin
I drive a bus for a living => job = drive a bus
I work in marketing => job = marketing
I'm employed as a lab technician => job = lab technician
I'm currently a postdoc at Max Planck Institute => job = postdoc; employer = Max Planck Institute
I've just been promoted to senior analyst => job = senior analyst
I started working as a tram driver in August => job = tram driver @ 2026-08-01
My new role is product manager => job = product manager
I switched careers and became a carpenter => job = carpenter
I'm a mechanic by trade => job = mechanic
My day job is teaching kids to swim => job = teaching kids to swim
I gave up teaching and I'm a florist now => job = florist
I'm an accountant, married, two kids => job = accountant
I quit being a lawyer => -job = lawyer
I've been at Bosch for eight years => employer = Bosch @ 2018-11-16
my company is called Tidewater Analytics => employer = Tidewater Analytics
I got hired at Lidl => employer = Lidl
I'm interning at CERN this year => employer = CERN
I'm a teacher at Lincoln High School => job = teacher; employer = Lincoln High School
I handed in my notice at Barclays => -employer = Barclays
I was made redundant by Ford in October => -employer = Ford @ 2026-10-01
I resigned from Oracle => -employer = Oracle
I read history at university => studies = history
I'm halfway through a degree in geology => studies = geology
My major was anthropology => studies = anthropology
I'm doing my master's in public health at Karolinska => studies = public health; school = Karolinska
I'm a second-year law student at Bocconi => studies = law; school = Bocconi
I went to Trinity College => school = Trinity College
I got my degree from the University of Warsaw => school = University of Warsaw
I'm a widow => relationship_status = widow
I'm not single any more, I'm engaged => -relationship_status = single; relationship_status = engaged
My wife and I have been married since 2001 => relationship_status = married @ 2001-01-01
we split up last month => -relationship_status = in a relationship @ 2026-10-01
My partner Kim and I just bought a flat in Delft => partner = Kim; home = Delft
me and my husband Otto love camping => partner = Otto
Sofia, my wife, is from Chile => partner = Sofia
I eat a plant-based diet => diet = plant-based
I've been eating vegan since March => diet = vegan @ 2026-03-01
I'm strictly kosher => diet = kosher
I'm pescatarian, so fish is fine => diet = pescatarian
vegan here, any snack ideas? => diet = vegan
I've switched to a low-carb diet => diet = low-carb
I drive an electric Kia => car = electric Kia
we have a red Mazda 3 => car = red Mazda 3
I bought a second-hand Peugeot 208 last month => car = second-hand Peugeot 208 @ 2026-10-01
I ride the metro to work => commute = metro
I go to work by bike => commute = bike
my commute is an hour by train => commute = hour by train
I'm on a Fairphone 5 => phone = Fairphone 5
I've still got my old iPhone 8 => phone = old iPhone 8
Email me at k.larsen@example.dk => email = k.larsen@example.dk
I've got a son, Mateo, who is five => child = Mateo
My daughter is called Alma => child = Alma
we're parents of three girls => child = three girls
I have a teenage son => child = teenage son
I have a 6 month old baby => child = 6 month old baby
I have four children and no sleep => child = four children
I've got an older brother called Henrik => sibling = Henrik
I have one sister and two brothers => sibling = one sister and two brothers
My younger sister Leila lives in Ghent => sibling = Leila
my mom's name is Patricia => parent = Patricia
my father, Gustav, is 80 => parent = Gustav
We've got a tortoise called Sheldon => pet = Sheldon
I have a cat and a dog => pet = cat; pet = dog
My two dogs are called Bonnie and Clyde => pet = Bonnie; pet = Clyde
we had to put our cat Luna down last week => -pet = Luna @ 2026-11-09
our new puppy is called Waffle => pet = Waffle
I adopted a rescue greyhound in April => pet = rescue greyhound @ 2026-04-01
I'm allergic to cats, sadly => allergy = cats
I've developed an allergy to pollen => allergy = pollen
I've got a shellfish allergy => allergy = shellfish
I've never liked olives => dislike = olives
cannot stand the smell of fish sauce => dislike = fish sauce
I'm not into musicals => dislike = musicals
I'm not a big fan of spicy food => dislike = spicy food
I don't enjoy crowds => dislike = crowds
I've always loved Baroque music => like = Baroque music
Big fan of Formula 1 here => like = Formula 1
I'm fond of rainy mornings => like = rainy mornings
My favourite author is Ursula Le Guin => like = Ursula Le Guin
I have a soft spot for 80s pop => like = 80s pop
I can't get enough of podcasts about Rome => like = podcasts about Rome
I spend my weekends restoring old radios => hobby = restoring old radios
my favourite hobby is origami => hobby = origami
I've taken up beekeeping => hobby = beekeeping
I've been doing ceramics since May => hobby = ceramics @ 2026-05-01
I'm an avid birdwatcher => hobby = birdwatcher
I speak fluent Turkish => language = Turkish
I know Swedish and Finnish => language = Swedish; language = Finnish
I grew up speaking Cantonese at home => language = Cantonese
my first language is Arabic => language = Arabic
I'm learning how to drive => learning = drive
I'm brushing up on my Danish => learning = Danish
I'm learning the harmonica => learning = harmonica
I've started taking Korean classes => learning = Korean
I've signed up for a course in welding => learning = welding
I'm trying to learn the guitar => learning = guitar
I gave up learning Russian => -learning = Russian
I'm a heavy Excel user => tool = Excel
My stack is Django and Vue => tool = Django; tool = Vue
I write my papers in LaTeX => tool = LaTeX
I'm on Linux => tool = Linux
I'm using Figma for the mockups => tool = Figma
I've been using Blender for a year => tool = Blender @ 2025-11-16
I ditched Chrome for Firefox => tool = Firefox; -tool = Chrome
We deploy with Kubernetes => tool = Kubernetes
I program in Haskell => tool = Haskell
I migrated from MySQL to Postgres => tool = Postgres; -tool = MySQL
I have a greenhouse => possession = greenhouse
I just bought a road bike => possession = road bike
I own a cabin in the mountains => possession = cabin
I bought myself a telescope last month => possession = telescope @ 2026-10-01
I have high blood pressure => health = high blood pressure
I'm on insulin => health = insulin
I live with chronic pain => health = chronic pain
I've had epilepsy since I was ten => health = epilepsy
I've sprained my ankle => health = sprained my ankle
I'm recovering from knee surgery => health = knee surgery
I've been diagnosed with dyslexia => health = dyslexia
I'm taking antidepressants => health = antidepressants
I'm hard of hearing => health = hard of hearing
I tore my ACL in March => health = tore my ACL @ 2026-03-01
I've started climbing => sport = climbing
I'm in a rowing club => sport = rowing
I play in a handball league => sport = handball
I box twice a week => sport = box
I run marathons => sport = marathons
I'm a keen cyclist => sport = cyclist
I train Muay Thai => sport = Muay Thai
We're flying to Peru on December 3 => plan = flying to Peru # 2026-12-03
I'm having knee surgery next week => plan = having knee surgery # 2026-11-23
I'm going to Iceland in two weeks => plan = going to Iceland # 2026-11-30
We're expecting a baby in April => plan = expecting a baby # 2027-04
I start my new job on December 1st => plan = start my new job # 2026-12-01
I've signed up for the Lisbon half marathon in March => plan = Lisbon half marathon # 2027-03
My exam is on Thursday => plan = exam # 2026-11-19
I'm defending my thesis in February => plan = defending my thesis # 2027-02
I have a flight to Oslo tomorrow morning => plan = flight to Oslo # 2026-11-17
we're getting the keys to our house next Friday => plan = getting the keys to our house # 2026-11-20
I'm working towards a black belt => goal = working towards a black belt
My new year's resolution is to drink less => goal = drink less
One of my goals is to write a book => goal = write a book
I'm learning the violin => learning = violin
I play bass in a band => instrument = bass
I'm a drummer in a wedding band => instrument = drums
I've picked up the banjo => instrument = banjo
I sing and play the piano => instrument = piano
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
keep the tone professional => P:tone = professional
Don't be so formal with me => P:tone = not so formal
Please be honest with me, even if it hurts => P:tone = honest
I want answers in bullet points => P:format = bullet points
Format your answers as tables => P:format = tables
stop using emojis => P:format = no emojis
Please avoid bullet points => P:format = no bullet points
I'd rather have prose than lists => P:format = prose
give temperatures in Fahrenheit => P:units = Fahrenheit
I think in kilometres, not miles => P:units = kilometres
please use kilograms and metres => P:units = kilograms
I prefer the metric system => P:units = metric
I like dark mode everywhere => P:theme = dark mode
dark theme please => P:theme = dark theme
I prefer a light theme => P:theme = light theme
Indent with two spaces => P:code_style = two spaces
Always add docstrings => P:code_style = docstrings
I like camelCase for variables => P:code_style = camelCase
don't add comments to the code => P:code_style = no comments
I'd rather you used single quotes => P:code_style = single quotes
Use Go for all code examples => P:programming_language = Go
I prefer TypeScript to JavaScript => P:programming_language = TypeScript
show me examples in C# => P:programming_language = C#
My preferred language is Rust => P:programming_language = Rust
Explain everything in detail => P:detail = in detail
I want step-by-step instructions => P:detail = step-by-step
Don't explain the basics to me => P:detail = no basics
Keep explanations simple => P:detail = simple
I prefer mornings to evenings => P:prefers_mornings = mornings over evenings
I'd rather have tea than coffee => P:prefers_tea = tea over coffee
I prefer working from home over the office => P:prefers_working_from_home = working from home over office
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
I was named Florence after my gran => name = Florence
My parents named me Ulysses => name = Ulysses
most people know me as Bear => nickname = Bear
my family calls me Bibi => nickname = Bibi
I just hit 50 => age = 50
I'm 16 y/o => age = 16
I've just turned twenty-one => age = 21
Being 72, I don't hear well => age = 72
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
I'm from the Faroe Islands => hometown = Faroe Islands
I spent my childhood in Mombasa => hometown = Mombasa
I was brought up in Sheffield => hometown = Sheffield
I'm Nigerian but live in London => nationality = Nigerian; home = London
I got my Dutch citizenship last year => nationality = Dutch @ 2025-01-01
I hold a Japanese passport => nationality = Japanese
My profession: beekeeper => job = beekeeper
I earn my living as a court interpreter => job = court interpreter
I'm a carpenter by trade => job = carpenter
I'm a part-time librarian and full-time mum => job = librarian
I'm working as a freelance copywriter => job = freelance copywriter
I was appointed head of sales in July => job = head of sales @ 2026-07-01
I started out as a plumber last spring => job = plumber @ 2026-03-01
I'm self-employed => job = self-employed
I teach maths at a secondary school => job = teach maths
I fix bikes for a living => job = fix bikes
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
I do IT support for Volvo => employer = Volvo
I started at Klarna this month => employer = Klarna @ 2026-11-01
I'm studying for a degree in marine biology => studies = marine biology
I'm pursuing a master's in urban planning => studies = urban planning
I graduated in mechanical engineering => studies = mechanical engineering
I'm at Leeds University => school = Leeds University
I study at Sorbonne => school = Sorbonne
I'm in my second year at Utrecht University => school = Utrecht University
I went back to school at Lund University in September => school = Lund University @ 2026-09-01
Recently divorced here => relationship_status = divorced
I've been single since March => relationship_status = single @ 2026-03-01
we're engaged! => relationship_status = engaged
I got divorced two years ago => relationship_status = divorced @ 2024-11-16
I'm a widower => relationship_status = widower
My better half, Ingrid, hates flying => partner = Ingrid
my girlfriend is named Paula => partner = Paula
I follow a gluten-free diet for health reasons => diet = gluten-free
I eat strictly vegan => diet = vegan
I'm a strict vegetarian => diet = vegetarian
We eat kosher at home => diet = kosher
I've been a vegetarian all my life => diet = vegetarian
I gave up being vegan => -diet = vegan
I'm not vegan anymore => -diet = vegan
I've got a VW Golf from 2011 => car = VW Golf
My ride is a Jeep Wrangler => car = Jeep Wrangler
we just bought a used Renault Zoe => car = used Renault Zoe
I sold my car last week => -car = car @ 2026-11-09
I got rid of my Opel Corsa => -car = Opel Corsa
I drive to the office => commute = drive
I usually take the tram to work => commute = tram
I walk to work => commute = walk
I commute two hours a day => commute = two hours a day
I bought an iPhone 16 last Friday => phone = iPhone 16 @ 2026-11-13
my new phone is a Pixel 9 => phone = Pixel 9
My work email is n.berg@example.se => email = n.berg@example.se
I'm a single mum of two boys => child = two boys
My son's name is Otis => child = Otis
I have a newborn => child = newborn
our daughter Wren was born last month => child = Wren @ 2026-10-01
I've two daughters, Isla and Maeve => child = Isla; child = Maeve
I'm the proud father of a baby girl => child = baby girl
I have a half-brother in Canada => sibling = half-brother
my big sister Noor is visiting => sibling = Noor
my brothers are called Amir and Sami => sibling = Amir; sibling = Sami
my mum is called Bridget => parent = Bridget
I've got two guinea pigs, Salt and Pepper => pet = Salt; pet = Pepper
My parrot's name is Kiwi => pet = Kiwi
We rescued a dog from the shelter in May => pet = dog @ 2026-05-01
I keep chickens => pet = chickens
I have a bearded dragon => pet = bearded dragon
my cat died in June => -pet = cat @ 2026-06-01
I am allergic to penicillin. => allergy = penicillin
I have hay fever => health = hay fever
I'm gluten intolerant => allergy = gluten
I'm allergic to dogs but I love them => allergy = dogs
I absolutely hate karaoke => dislike = karaoke
I despise early meetings => dislike = early meetings
not a fan of reality TV => dislike = reality TV
I don't care for opera => dislike = opera
I can't bear techno => dislike = techno
I've always hated cucumbers => dislike = cucumbers
I love a good thriller => like = good thriller
I really enjoy Korean dramas => like = Korean dramas
I'm mad about cheese => like = cheese
My favourite season is autumn => like = autumn
I like cats more than dogs => like = cats
I quite like rainy days => like = rainy days
I've been into vinyl lately => like = vinyl
My hobbies include kayaking and baking => hobby = kayaking; hobby = baking
I knit in my spare time => hobby = knit
I do a lot of gardening => hobby = gardening
I've been getting into woodworking => hobby = woodworking
I'm really into birdwatching => hobby = birdwatching
I love gardening => like = gardening
My pastime is whittling => hobby = whittling
I speak Dutch, English and some French => language = Dutch; language = English; language = French
I'm a native speaker of Catalan => language = Catalan
I also speak Urdu => language = Urdu
I can read Latin => language = Latin
I'm currently learning Greek on Duolingo => learning = Greek
I'm learning to play the drums => learning = drums
I'm doing a course in first aid => learning = first aid
I take piano lessons => learning = piano
I use Emacs for everything => tool = Emacs
I build websites with WordPress => tool = WordPress
I do my budgeting in YNAB => tool = YNAB
We're using Terraform and AWS => tool = Terraform; tool = AWS
I edit photos in Lightroom => tool = Lightroom
I work with SolidWorks every day => tool = SolidWorks
I moved from Trello to Linear => tool = Linear; -tool = Trello
My browser is Vivaldi => tool = Vivaldi
I have a piano at home => possession = piano
I've bought a kayak => possession = kayak
we own a holiday home in Brittany => possession = holiday home
I just got an espresso machine => possession = espresso machine
I sold my boat in August => -possession = boat @ 2026-08-01
I have a heart condition => health = heart condition
I've had a knee replacement => health = knee replacement
I'm taking statins => health = statins
I've been diagnosed with PCOS recently => health = PCOS
I'm recovering from a stroke => health = stroke
I have ADHD and it shows => health = ADHD
I fractured my collarbone in July => health = fractured my collarbone @ 2026-07-01
I'm epileptic => health = epileptic
My back is bad, I have a herniated disc => health = herniated disc
I play badminton on Wednesdays => sport = badminton
I do triathlons => sport = triathlons
I've taken up padel => sport = padel
I'm a member of a fencing club => sport = fencing
I surf whenever I can => sport = surf
I row every morning => sport = row
I ski => sport = ski
I quit playing football => -sport = football
I'm going to Vietnam in March => plan = going to Vietnam # 2027-03
I'm travelling to Ghana next week => plan = travelling to Ghana # 2026-11-23
We're having our first baby in May => plan = having our first baby # 2027-05
I have an exam on Tuesday => plan = exam # 2026-11-17
I've booked flights to Tokyo for April => plan = flights to Tokyo # 2027-04
We are getting a puppy on Saturday => plan = getting a puppy # 2026-11-21
I'm turning 40 next month => plan = turning 40 # 2026-12
I've got a dentist appointment next Tuesday => plan = dentist appointment # 2026-11-17
my wedding is on June 12th => plan = wedding # 2027-06-12
My aim is to retire at 55 => goal = retire at 55
I'm saving to buy a van => goal = saving to buy a van
my goal for this year is to read more => goal = read more
I'm trying to quit smoking => goal = quit smoking
My ambition is to open a restaurant => goal = open a restaurant
I play the trumpet in a brass band => instrument = trumpet
I've been playing the violin for ten years => instrument = violin @ 2016-11-16
I play a bit of piano => instrument = piano
I started playing the flute => instrument = flute
I no longer play the drums => -instrument = drums
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
no tables please => P:format = no tables
Put your answers in tables => P:format = tables
I'd like bullet points => P:format = bullet points
Please write in full paragraphs => P:format = full paragraphs
Use the 24-hour clock => P:units = 24-hour clock
prices in euros please => P:units = euros
Show weights in pounds => P:units = pounds
I use dark mode on everything => P:theme = dark mode
Set everything to dark mode => P:theme = dark mode
I prefer functional style => P:code_style = functional style
please include docstrings in your code => P:code_style = docstrings
Avoid one-liners in code => P:code_style = no one-liners
All code examples in Java, please => P:programming_language = Java
I'd like code in Swift => P:programming_language = Swift
I prefer Rust => P:programming_language = Rust
I prefer detailed explanations => P:answer_length = detailed
I prefer beer over wine => P:prefers_beer = beer over wine
I much prefer cats to dogs => P:prefers_cats = cats over dogs
I prefer hotels to hostels when travelling => P:prefers_hotels = hotels over hostels
Always greet me in Latin => instruction = Always greet me in Latin
never show me spoilers => instruction = never show me spoilers
Every time we talk, ask about my knee => instruction = Every time we talk, ask about my knee
When I send a link, summarise it first => instruction = When I send a link, summarise it first
from now on I want you to quiz me at the end => instruction = from now on I want you to quiz me at the end
Please never book anything without asking => instruction = Please never book anything without asking
At the end of each answer, list your sources => instruction = At the end of each answer, list your sources
Remember to always check the weather first => instruction = Remember to always check the weather first
People at the gym call me Tank => nickname = Tank
I'm known to my friends as Buzz => nickname = Buzz
I've just celebrated my 60th birthday => age = 60
I'm turning 33 on Friday => plan = turning 33 # 2026-11-20
I am 29 years of age => age = 29
we're based near Stuttgart => home = Stuttgart
I've settled in Bergen with my family => home = Bergen
I share a flat in Camden => home = Camden
I've relocated to Singapore for good => home = Singapore
My house is in Woodstock => home = Woodstock
I was raised on a farm in Iowa => hometown = Iowa
I hail from a village near Pisa => hometown = Pisa
I'm Irish by birth => nationality = Irish
I do landscaping for a living => job = landscaping
I'm a sous chef in a bistro => job = sous chef
I'm in sales => job = sales
I work as a lifeguard each summer => job = lifeguard
I've got a job as a museum guide => job = museum guide
I'm a translator from Finnish to English => job = translator
my workplace is Saint Thomas Hospital => employer = Saint Thomas Hospital
I'm on the marketing team at Heineken => employer = Heineken
I've been employed by Airbus since May => employer = Airbus @ 2026-05-01
I've left Bayer => -employer = Bayer
I was fired from Twitter => -employer = Twitter
I'm finishing a PhD in astrophysics => studies = astrophysics
I'm doing a BSc in chemistry at Durham => studies = chemistry; school = Durham
I'm off the market, got engaged last night => relationship_status = engaged @ 2026-11-15
I've been divorced for a decade => relationship_status = divorced
my other half is called Steph => partner = Steph
Lars and I are married => partner = Lars; relationship_status = married
I married Helga in 1999 => partner = Helga @ 1999-01-01
I don't eat meat, I'm vegetarian => diet = vegetarian
I'm mostly plant-based => diet = plant-based
We own a Nissan Qashqai => car = Nissan Qashqai
I'm driving a Hyundai i20 now => car = Hyundai i20
I've swapped my iPhone for a Pixel 7a => phone = Pixel 7a
I use an old Nokia => phone = old Nokia
I ride my bike to work => commute = bike
I skate to the office => commute = skate
I'm mum to Ellie and Max => child = Ellie; child = Max
I have three sons => child = three sons
My boys are Luka and Niko => child = Luka; child = Niko
my stepson Ravi moved in with us => child = Ravi
I've got a kid sister named Dot => sibling = Dot
I have a twin => sibling = twin
my dad's name is Eugene => parent = Eugene
My mom Teresa is a great cook => parent = Teresa
I have a hamster called Nugget => pet = Nugget
our budgie Kevin talks => pet = Kevin
we have two cats, Tom and Jerry => pet = Tom; pet = Jerry
My horse is called Thunder => pet = Thunder
I had to say goodbye to my dog Rufus last month => -pet = Rufus @ 2026-10-01
I'm allergic to pollen, dust and cats => allergy = pollen; allergy = dust; allergy = cats
my allergies are peanuts and soy => allergy = peanuts; allergy = soy
Dairy makes me ill, I'm lactose intolerant => allergy = lactose
I'm no fan of winter => dislike = winter
I really dislike small talk => dislike = small talk
I cannot stand liver => dislike = liver
I never liked broccoli => dislike = broccoli
I detest jogging => dislike = jogging
Love Thai curries => like = Thai curries
I'm keen on astronomy => like = astronomy
my favourite film is Alien => like = Alien
I'm passionate about wine => like = wine
I enjoy a glass of whisky => like = glass of whisky
I'm partial to dark chocolate => like = dark chocolate
I play chess => hobby = chess
I enjoy woodworking in my spare time => hobby = woodworking
On Sundays I go foraging => hobby = foraging
I'm an amateur astronomer => hobby = astronomer
I started beekeeping last spring => hobby = beekeeping @ 2026-03-01
I can speak Farsi => language = Farsi
I'm trilingual: French, Arabic and English => language = French; language = Arabic; language = English
I understand Polish => language = Polish
I'm picking up some Swahili => learning = Swahili
I'm studying Mandarin => learning = Mandarin
I'm learning sign language at night school => learning = sign language
I've enrolled in an Italian course => learning = Italian
I have swimming lessons on Mondays => learning = swimming
I run Arch on my desktop => tool = Arch
We build everything in React => tool = React
I rely on Todoist => tool = Todoist
I'm a Vim user => tool = Vim
I keep my notes in Logseq => tool = Logseq
I bought a new laptop => possession = laptop
I own a vinyl collection => possession = vinyl collection
I have a Kindle => possession = Kindle
I own two surfboards => possession = surfboards
I've got an allotment => possession = allotment
I have chronic migraines => health = chronic migraines
I've got a bad knee => health = bad knee
I suffer from insomnia => health = insomnia
I'm on sertraline => health = sertraline
I was diagnosed as autistic at 30 => health = autistic
I've dislocated my shoulder => health = dislocated my shoulder
I have a pacemaker => health = pacemaker
I play squash with a colleague => sport = squash
I do Pilates twice a week => sport = Pilates
I've been bouldering for a year => sport = bouldering @ 2025-11-16
I cycle competitively => sport = cycle
I have my driving test on the 25th => plan = driving test # 2026-11-25
I'm graduating in June => plan = graduating # 2027-06
We're moving house in the spring => plan = moving house # 2027-03
I'll start at Oxford in October => plan = start at Oxford # 2027-10
My surgery is scheduled for January 8 => plan = surgery # 2027-01-08
My target is 10,000 steps a day => goal = 10,000 steps a day
I'm learning Spanish because my goal is to live in Peru => learning = Spanish; goal = live in Peru
I play the organ at church => instrument = organ
I'm learning bass => learning = bass
You can just call me Doc => P:address_as = Doc
My name is Elizabeth but please call me Liz => name = Elizabeth; P:address_as = Liz
Give short answers => P:answer_length = short
I'd like more detailed answers => P:answer_length = more detailed
Keep responses to two sentences => P:answer_length = two sentences
respond to me in Catalan => P:answer_language = Catalan
I want you to write in Norwegian => P:answer_language = Norwegian
Stay polite => P:tone = polite
I'd like a more professional tone => P:tone = more professional
be gentle with me => P:tone = gentle
Use headings => P:format = headings
I hate emojis in answers => P:format = no emojis
answer with bullet points => P:format = bullet points
Please use Celsius => P:units = Celsius
distances in km please => P:units = km
I always use dark mode => P:theme = dark mode
I want light mode => P:theme = light mode
Use snake_case => P:code_style = snake_case
Always write unit tests => P:code_style = unit tests
I prefer double quotes in JS => P:code_style = double quotes
Please write examples in Ruby => P:programming_language = Ruby
break things down step by step => P:detail = step by step
I want simple explanations => P:detail = simple
I prefer swimming to running => P:prefers_swimming = swimming over running
I prefer cash over card => P:prefers_cash = cash over card
I prefer the window seat => P:prefers_window_seat = window seat
Never recommend pork dishes => instruction = Never recommend pork dishes
Before each session, remind me of my goals => instruction = Before each session, remind me of my goals
Whenever I'm vague, ask a follow-up question => instruction = Whenever I'm vague, ask a follow-up question
from today on, call out my mistakes => instruction = from today on, call out my mistakes
Always tell me the source => instruction = Always tell me the source
"""

SILENT = """
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
    if claim.valid_from:
        text += f" @ {claim.valid_from:%Y-%m-%d}"
    return text + (f" # {claim.details['date']}" if "date" in claim.details else "")


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
        ("I have a brother named Tom.", {"relation": "brother"}),
        ("My wife Ana loves sushi", {"relation": "wife"}),
        ("Keep answers short", {"type": "communication", "explicit": True}),
        ("I usually like my answers short", {"type": "communication", "explicit": False}),
        ("Use type hints", {"type": "coding", "explicit": True}),
        ("I prefer dark mode", {"type": "general", "explicit": True}),
        ("I prefer tea to coffee", {"type": "general", "explicit": True}),
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
    endless = ", and I like tea" * 2_000
    assert all(len(each.text) <= clauses.LONGEST_SENTENCE for each in sentences(endless))
    assert all(len(each.clauses) <= clauses.MOST_CLAUSES + 1 for each in sentences(endless))
    assert len([*sentences("I am. " * 5_000)]) <= clauses.MOST_SENTENCES
    many = " ".join(f"I love n{number}x." for number in range(2_000))
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
