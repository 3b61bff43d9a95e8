"""The closed lists that tell a job from a mood and a cat from a car."""

from __future__ import annotations


def listed(text: str) -> frozenset[str]:
    """Phrases that are written one after another with commas."""
    return frozenset(" ".join(phrase.split()) for phrase in text.split(",") if phrase.strip())


OCCUPATIONS = listed("""
    accountant, actor, actress, actuary, administrator, admin, advisor, adviser, agent, agronomist, analyst,
    anesthesiologist, animator, anthropologist, apprentice, archaeologist, architect, archivist, artist,
    assistant, astronaut, astronomer, astrophysicist, athlete, attorney, au pair, auditor, author, babysitter,
    baker, ballerina, banker, barber, barista, barrister, bartender, beautician, beekeeper, biochemist,
    biologist, blacksmith, blogger, bookkeeper, bookseller, botanist, bouncer, brewer, bricklayer, broker,
    builder, bus driver, businessman, businesswoman, butcher, butler, buyer, cabin crew, cameraman, captain,
    cardiologist, caregiver, caretaker, carer, carpenter, cartographer, cashier, caterer, ceo, cfo, coo, cto,
    cmo, cio, ciso, chairman, chaplain, chauffeur, chef, chemist, childminder, chiropractor, choreographer,
    civil servant, cleaner, clerk, clinician, coach, cobbler, columnist, comedian, composer, concierge,
    conductor, conservationist, consultant, contractor, cook, copywriter, copy editor, correspondent, counselor,
    counsellor, courier, crane operator, critic, croupier, curator, customer service, dancer, data scientist,
    dealer, decorator, dental hygienist, hygienist, dentist, dermatologist, designer, detective, developer, dev,
    devops, dietician, dietitian, diplomat, director, dishwasher, diver, dj, doctor, doorman, doula, draftsman,
    dressmaker, driver, ecologist, economist, editor, educator, electrician, embryologist, engineer,
    entrepreneur, epidemiologist, estate agent, realtor, estimator, ethicist, executive, facilitator, factory
    worker, farmer, farmhand, fashion model, film director, filmmaker, financier, firefighter, fireman,
    fisherman, fitter, flight attendant, florist, foreman, forester, founder, cofounder, co-founder, freelancer,
    fundraiser, game designer, gardener, gamedev, geneticist, geographer, geologist, geophysicist, glazier,
    goldsmith, golfer, grad student, graduate student, grower, guard, guide, hairdresser, hairstylist, handyman,
    head of marketing, head of engineering, head of product, head of sales, head of design, healer, herbalist,
    historian, homemaker, stay-at-home mom, stay-at-home dad, stay-at-home mum, stay-at-home parent, housewife,
    househusband, hotelier, host, hostess, housekeeper, hr manager, illustrator, inspector, instructor, interior
    designer, intern, interpreter, inventor, investigator, investor, it support, janitor, jeweler, jeweller,
    jockey, joiner, journalist, judge, juggler, kindergarten teacher, laborer, labourer, landlord, landscaper,
    lawyer, lecturer, legislator, librarian, lifeguard, linguist, locksmith, logistician, lorry driver,
    machinist, magician, magistrate, maid, makeup artist, manager, marine, marketer, marine biologist, mason,
    masseuse, masseur, mathematician, mayor, mechanic, mediator, medic, merchant, metalworker, meteorologist,
    microbiologist, midwife, miller, miner, minister, missionary, model, mover, musician, musicologist, nanny,
    neurologist, neuroscientist, neurosurgeon, notary, novelist, nurse, nurse practitioner, nun, nutritionist,
    obstetrician, occupational therapist, oceanographer, office manager, officer, oncologist, operator,
    optician, optometrist, orderly, orthodontist, orthopedist, osteopath, painter, paleontologist, paralegal,
    paramedic, park ranger, ranger, parole officer, pastor, pathologist, pediatrician, paediatrician, performer,
    personal trainer, pharmacist, philosopher, phlebotomist, photographer, photojournalist, physician,
    physicist, physiologist, physio, physiotherapist, physical therapist, pianist, pilot, plasterer, playwright,
    plumber, podcaster, podiatrist, poet, police officer, policeman, policewoman, cop, politician, porter, post
    office worker, postdoc, postman, postwoman, mail carrier, mailman, potter, preacher, presenter, priest,
    principal, printer, prison officer, private investigator, product designer, product manager, product owner,
    professor, programmer, coder, project manager, proofreader, prosecutor, psychiatrist, psychologist,
    psychotherapist, publicist, publisher, rabbi, radiographer, radiologist, rapper, real estate agent,
    receptionist, recruiter, referee, reporter, researcher, restaurateur, restorer, reviewer, roofer, sailor,
    sales assistant, sales associate, sales rep, sales representative, salesman, salesperson, saleswoman,
    scaffolder, scholar, school counselor, scientist, screenwriter, scrum master, sculptor, seamstress,
    secretary, security guard, seller, sergeant, server, set designer, shepherd, sheriff, shoemaker, shop
    assistant, shopkeeper, singer, social worker, sociologist, software architect, soldier, solicitor,
    sommelier, songwriter, sound engineer, speaker, speech therapist, sre, statistician, stockbroker, steward,
    stewardess, storekeeper, storyteller, strategist, streamer, student, stuntman, stylist, sub-editor,
    superintendent, supervisor, surgeon, surveyor, sysadmin, tailor, tattoo artist, tattooist, tax advisor, taxi
    driver, teacher, teaching assistant, tech lead, team lead, technician, technologist, telemarketer, tester,
    therapist, tiler, toolmaker, tour guide, toxicologist, trader, trainee, trainer, train driver, translator,
    travel agent, treasurer, truck driver, trucker, tutor, undertaker, undergrad, undergraduate, upholsterer,
    usher, ux designer, valet, vet, vet tech, vet nurse, veterinarian, video editor, videographer, vintner,
    virologist, vp, vlogger, volunteer, waiter, waitress, warden, warehouse worker, watchmaker, weaver, web
    designer, web developer, welder, winemaker, wedding planner, event planner, planner, woodworker, worker,
    writer, yoga teacher, youtuber, zookeeper, zoologist, freelance, quant, rep, lead, line cook, sous chef,
    engineering manager, clown, farrier, goalkeeper, tuner, cleric, imam, bailiff, dispatcher, copyeditor,
    webmaster, stagehand, groundskeeper
""")
# Words that are jobs only beside others: nobody is "a lead", but a "design lead" is one.
NEVER_ALONE = listed("""
    lead, rep, agent, host, server, speaker, model, guide, operator, worker, assistant, executive, officer,
    director of, performer, planner, seller, buyer, dealer, captain, healer, mover, volunteer, guard, builder,
    critic, printer, reviewer, trainee, minister, principal, freelance, judge, inventor, philosopher,
    storyteller, juggler, clown, admin, tester
""")
NOT_JOBS = listed("""
    beginner, language model, ai language model, role model, lover, member, owner, believer, follower, reader,
    listener, learner, newcomer, user, player, eater, drinker, smoker, walker, person, man, woman, guy, girl,
    boy, mother, father, mom, mum, dad, parent, fan, foodie, loser, winner, dreamer, overthinker, thinker, early
    riser, night owl, morning person, stranger, foreigner, customer, subscriber, survivor, hoarder,
    procrastinator, perfectionist, optimist, pessimist, realist, minimalist, idealist, feminist, atheist,
    christian, muslim, buddhist, catholic, jew, hindu, introvert, extrovert, ambivert, nerd, geek, runner,
    swimmer, cyclist, hiker, climber, gamer, swiftie, passenger, tourist, traveler, traveller, visitor,
    resident, citizen, immigrant, expat, teenager, adult, kid, child, twin, sister, brother, husband, wife,
    friend, partner, supporter, newbie, renter, homeowner, caller, sucker, saver, spender, homebody, workaholic,
    tad, bit, lot, mess, wreck, pro, regular, native speaker, light sleeper, heavy sleeper, slow learner, late
    bloomer, bookworm, addict, nomad, gemini, capricorn, collector, mentor, leader, contributor, maker,
    organizer, organiser, communicator, go-getter, team player, planner, worrier, crier, hugger, sinner,
    sleeper, first-timer
""")
DIETS = listed("""
    vegan, vegetarian, pescatarian, pescetarian, flexitarian, omnivore, omnivorous, carnivore, halal, kosher,
    keto, ketogenic, paleo, gluten-free, gluten free, dairy-free, dairy free, low-carb, low carb, plant-based,
    plant based, raw vegan, lacto-vegetarian, ovo-vegetarian, lacto-ovo vegetarian, mediterranean, dash,
    low-fodmap, low fodmap, sugar-free, sugar free, carnivorous, macrobiotic, fruitarian, low-sodium, low
    sodium, high-protein, whole30, nut-free, nut free, mostly vegan, mostly vegetarian
""")
DEMONYMS = listed("""
    afghan, albanian, algerian, american, angolan, argentinian, argentine, armenian, australian, austrian,
    azerbaijani, bahraini, bangladeshi, belarusian, belgian, bolivian, bosnian, brazilian, british, bulgarian,
    burmese, cambodian, cameroonian, canadian, catalan, chilean, chinese, colombian, congolese, costa rican,
    croatian, cuban, cypriot, czech, danish, dominican, dutch, ecuadorian, egyptian, english, eritrean,
    estonian, ethiopian, filipino, filipina, finnish, french, georgian, german, ghanaian, greek, guatemalan,
    haitian, honduran, hungarian, icelandic, indian, indonesian, iranian, iraqi, irish, israeli, italian,
    ivorian, jamaican, japanese, jordanian, kazakh, kenyan, korean, south korean, kosovan, kurdish, kuwaiti,
    latvian, lebanese, libyan, lithuanian, luxembourgish, macedonian, malaysian, maltese, mexican, moldovan,
    mongolian, moroccan, mozambican, namibian, nepali, nepalese, new zealander, nicaraguan, nigerian, norwegian,
    pakistani, palestinian, panamanian, paraguayan, peruvian, polish, portuguese, puerto rican, romanian,
    russian, rwandan, saudi, scottish, senegalese, serbian, singaporean, slovak, slovakian, slovene, slovenian,
    somali, south african, spanish, sri lankan, sudanese, swedish, swiss, syrian, taiwanese, tanzanian, thai,
    tibetan, tunisian, turkish, ugandan, ukrainian, uruguayan, uzbek, venezuelan, vietnamese, welsh, yemeni,
    zambian, zimbabwean, aussie, brit, swede, dane, finn, spaniard, briton, scot, pole, turk
""")
LANGUAGES = listed("""
    afrikaans, albanian, american sign language, amharic, arabic, armenian, asl, azerbaijani, basque,
    belarusian, bengali, bosnian, bulgarian, burmese, cantonese, catalan, chinese, creole, croatian, czech,
    danish, dari, dutch, english, esperanto, estonian, farsi, filipino, finnish, flemish, french, gaelic,
    galician, georgian, german, greek, gujarati, haitian creole, hausa, hawaiian, hebrew, hindi, hungarian,
    icelandic, igbo, indonesian, irish, italian, japanese, kannada, kazakh, khmer, korean, kurdish, lao, latin,
    latvian, lithuanian, luxembourgish, macedonian, malay, malayalam, maltese, mandarin, mandarin chinese,
    maori, marathi, mongolian, nepali, norwegian, pashto, persian, polish, portuguese, brazilian portuguese,
    punjabi, quechua, romanian, russian, serbian, sign language, sinhala, slovak, slovenian, somali, spanish,
    swahili, swedish, swiss german, tagalog, tamil, telugu, thai, tibetan, turkish, ukrainian, urdu, uzbek,
    vietnamese, welsh, wolof, xhosa, yiddish, yoruba, zulu, british sign language, bsl
""")
PROGRAMMING = listed("""
    python, java, javascript, typescript, rust, go, golang, c, c++, c#, ruby, php, kotlin, swift, scala,
    haskell, elixir, erlang, clojure, perl, r, julia, lua, dart, sql, bash, fortran, cobol, zig, ocaml, f#,
    matlab, assembly, objective-c, lisp, groovy
""")
TOOLS = PROGRAMMING | listed("""
    vim, neovim, emacs, vs code, vscode, visual studio, visual studio code, intellij, pycharm, webstorm, android
    studio, xcode, eclipse, sublime text, sublime, cursor, jupyter, notion, obsidian, evernote, onenote, trello,
    asana, jira, linear, confluence, slack, discord, teams, microsoft teams, zoom, figma, sketch, photoshop,
    adobe photoshop, lightroom, illustrator, indesign, premiere, premiere pro, final cut, davinci resolve, after
    effects, blender, maya, unity, unreal, unreal engine, godot, autocad, solidworks, fusion 360, sketchup,
    excel, google sheets, google docs, word, powerpoint, outlook, gmail, thunderbird, protonmail, windows,
    windows 11, windows 10, linux, ubuntu, debian, fedora, arch, arch linux, nixos, macos, mac os, chromeos,
    firefox, chrome, safari, edge, brave, git, github, gitlab, bitbucket, docker, podman, kubernetes, terraform,
    ansible, jenkins, aws, azure, gcp, google cloud, heroku, vercel, netlify, cloudflare, react, vue, vue.js,
    angular, svelte, next.js, nextjs, nuxt, django, flask, fastapi, rails, ruby on rails, laravel, spring,
    spring boot, express, node, node.js, nodejs, deno, bun, .net, dotnet, asp.net, tailwind, tailwind css,
    bootstrap, css, html, sass, webpack, vite, eslint, prettier, ruff, mypy, pytest, jest, cypress, playwright,
    postgres, postgresql, mysql, mariadb, sqlite, mongodb, redis, elasticsearch, kafka, rabbitmq, snowflake,
    bigquery, dbt, spark, hadoop, airflow, tableau, power bi, looker, pandas, polars, numpy, scikit-learn,
    pytorch, tensorflow, keras, jax, hugging face, langchain, chatgpt, claude, copilot, github copilot, gemini,
    stata, spss, sas, latex, overleaf, zotero, todoist, ableton, ableton live, logic pro, fl studio, garageband,
    pro tools, audacity, obs, canva, shopify, wordpress, webflow, wix, salesforce, hubspot, quickbooks, xero,
    strava, duolingo, anki, spotify, whatsapp, telegram, signal, flutter, react native, swiftui, tmux, zsh,
    fish, iterm, wezterm, alacritty, poetry, uv, pip, conda, npm, yarn, pnpm, graphql, grpc, prometheus,
    grafana, sentry, datadog, splunk, supabase, firebase, dynamodb, cassandra, raspberry pi, arduino, home
    assistant, ynab, things, google calendar, apple notes, logseq, roam, ios, android, procreate, krita, gimp,
    inkscape
""")
SPECIES = listed("""
    dog, puppy, cat, kitten, rabbit, bunny, hamster, guinea pig, gerbil, rat, mouse, ferret, parrot, parakeet,
    budgie, cockatiel, canary, bird, chicken, hen, rooster, duck, goose, horse, pony, donkey, goat, sheep, pig,
    cow, llama, alpaca, fish, goldfish, betta fish, betta, turtle, tortoise, snake, ball python, corn snake,
    lizard, gecko, leopard gecko, iguana, bearded dragon, frog, hedgehog, chinchilla, tarantula, golden
    retriever, labrador, lab, poodle, beagle, bulldog, french bulldog, dachshund, corgi, border collie, husky,
    chihuahua, pug, german shepherd, rottweiler, terrier, shih tzu, greyhound, whippet, dalmatian, cocker
    spaniel, spaniel, collie, great dane, rescue dog, rescue cat, tabby, siamese cat, maine coon, persian cat,
    ragdoll, pet, boxer, schnauzer, samoyed, shiba inu, shiba, australian shepherd, macaw, cockatoo, axolotl,
    pitbull, mutt, retriever, labradoodle, goldendoodle, yorkie, maltese, springer spaniel, basset hound, hound,
    sphynx, bengal cat, stray cat, stray dog, doggo, kitty, pup
""")
SPORTS = listed("""
    tennis, table tennis, ping pong, football, american football, soccer, basketball, baseball, softball,
    volleyball, beach volleyball, handball, hockey, ice hockey, field hockey, rugby, cricket, golf, badminton,
    squash, padel, pickleball, racquetball, lacrosse, water polo, polo, swimming, running, jogging, cycling,
    biking, mountain biking, climbing, rock climbing, bouldering, skiing, snowboarding, skating, ice skating,
    figure skating, skateboarding, surfing, windsurfing, kitesurfing, kayaking, rowing, sailing, judo, karate,
    taekwondo, aikido, boxing, kickboxing, muay thai, jiu-jitsu, jiu jitsu, brazilian jiu-jitsu, bjj, wrestling,
    fencing, archery, gymnastics, yoga, pilates, crossfit, weightlifting, powerlifting, triathlon, triathlons,
    marathons, half marathons, marathon, horse riding, horseback riding, equestrian, diving, scuba diving,
    ultimate frisbee, ultimate, frisbee, bowling, darts, snooker, futsal, netball, martial arts, parkour, trail
    running, capoeira, krav maga, kendo, cross-country skiing, spin, spinning, zumba, aerobics, roller derby,
    bodybuilding, calisthenics, five-a-side, five-a-side football, athletics, track, cross country, curling,
    hurling
""")
INSTRUMENTS = listed("""
    guitar, acoustic guitar, electric guitar, bass guitar, bass, piano, keyboard, violin, viola, cello, double
    bass, drums, flute, clarinet, oboe, bassoon, saxophone, sax, trumpet, trombone, tuba, french horn, horn,
    harp, ukulele, banjo, mandolin, accordion, harmonica, recorder, organ, sitar, tabla, lute, bagpipes,
    percussion, synth, synthesizer, djembe, cajon, xylophone, marimba, erhu, koto, fiddle, classical guitar,
    alto sax, tenor sax, euphonium, keyboards, concertina, handpan, oud, bodhran, tin whistle
""")
HOBBIES = listed("""
    hiking, painting, photography, pottery, knitting, crochet, crocheting, sewing, gardening, baking, cooking,
    reading, writing, drawing, sketching, birdwatching, bird watching, fishing, camping, chess, gaming, video
    games, board games, woodworking, origami, calligraphy, stargazing, astronomy, dancing, salsa dancing,
    singing, blogging, journaling, meditation, collecting stamps, stamp collecting, coin collecting,
    scrapbooking, embroidery, quilting, homebrewing, beekeeping, geocaching, model trains, puzzles, jigsaw
    puzzles, crosswords, foraging, genealogy, watercolor, watercolors, watercolour, ceramics, jewelry making,
    candle making, travelling, traveling, metal detecting, karaoke, cosplay, dungeons & dragons, d&d, dnd,
    backpacking, home brewing, bonsai, videography, filmmaking, improv, ballroom dancing, ballet, sculpting,
    leathercraft, whittling, sudoku, magic tricks, drone photography, urban sketching, lego, warhammer, tabletop
    games, volunteering, birding, coding, programming, canoeing, hunting, wood carving, macrame, podcasting
""")
CONDITIONS = listed("""
    diabetes, type 1 diabetes, type 2 diabetes, asthma, adhd, add, autism, depression, anxiety, bipolar
    disorder, ocd, ptsd, migraines, chronic migraines, epilepsy, arthritis, rheumatoid arthritis,
    osteoarthritis, celiac disease, coeliac disease, celiac, crohn's disease, crohn's, ibs, ulcerative colitis,
    colitis, lupus, ms, multiple sclerosis, fibromyalgia, endometriosis, pcos, hypothyroidism, hyperthyroidism,
    hashimoto's, high blood pressure, hypertension, high cholesterol, heart disease, arrhythmia, afib, anemia,
    anaemia, cancer, breast cancer, prostate cancer, leukemia, psoriasis, eczema, rosacea, acne, scoliosis,
    sciatica, tinnitus, insomnia, sleep apnea, sleep apnoea, narcolepsy, glaucoma, cataracts, astigmatism,
    dyslexia, dyscalculia, dyspraxia, gout, gerd, acid reflux, kidney stones, osteoporosis, parkinson's, hay
    fever, vertigo, tendonitis, tendinitis, carpal tunnel, carpal tunnel syndrome, plantar fasciitis, a
    herniated disc, herniated disc, slipped disc, long covid, chronic fatigue syndrome, chronic back pain,
    chronic pain, back problems, a bad back, bad back, a bad knee, bad knee, bad knees, a heart murmur, heart
    murmur, a heart condition, heart condition, a pacemaker, lactose intolerance, gluten intolerance,
    prediabetes, copd, hiv, hepatitis b, raynaud's, tourette's, a stutter, vitiligo, ehlers-danlos, pots, knee
    problems, color blindness, colour blindness, sinusitis, gastritis, tennis elbow, shin splints, low blood
    pressure, thyroid issues, a thyroid condition, thyroid condition, a concussion, concussion, shingles, a torn
    acl, torn acl, a torn meniscus, torn meniscus, a broken leg, a broken arm, a broken wrist, a broken ankle,
    broken leg, broken arm, broken wrist, broken ankle, a sprained ankle, sprained ankle, pneumonia, bronchitis
""")
CONDITIONS |= {each.removeprefix("a ") for each in CONDITIONS}
HEALTH_ADJECTIVES = listed("""
    diabetic, type 1 diabetic, type 2 diabetic, asthmatic, autistic, epileptic, dyslexic, colorblind,
    colour-blind, color-blind, colour blind, color blind, deaf, hard of hearing, blind, legally blind, celiac,
    coeliac, anemic, anaemic, pregnant, nearsighted, short-sighted, shortsighted, farsighted, bipolar,
    hypertensive, neurodivergent, prediabetic, pre-diabetic, a diabetic, immunocompromised, a cancer survivor, a
    recovering alcoholic, hypothyroid, an asthmatic, left-handed, HIV positive
""") - {"left-handed"}
CARS = listed("""
    tesla, toyota, honda, ford, bmw, audi, mercedes, mercedes-benz, volkswagen, vw, volvo, nissan, mazda,
    subaru, hyundai, kia, chevrolet, chevy, jeep, dodge, porsche, fiat, renault, peugeot, citroen, citroën,
    skoda, škoda, seat, opel, vauxhall, mini cooper, mini, lexus, acura, infiniti, cadillac, buick, gmc,
    chrysler, jaguar, land rover, range rover, ferrari, lamborghini, maserati, alfa romeo, suzuki, mitsubishi,
    dacia, rivian, polestar, byd, lucid, prius, civic, corolla, golf, polo, passat, yaris, camry, accord,
    mustang, f-150, model 3, model y, model s, leaf, micra, clio, panda, outback, forester, crv, cr-v, rav4,
    miata, mx-5, wrangler, tacoma, tucson, fiesta, focus, beetle, cybertruck, pickup truck, pickup, hatchback,
    minivan, suv, station wagon, convertible, sedan, van, campervan, camper van, truck, car
""")
PHONES = listed("""
    iphone, pixel, google pixel, galaxy, samsung, samsung galaxy, oneplus, xiaomi, fairphone, nokia, motorola,
    huawei, android phone, sony xperia, nothing phone, flip phone, redmi, oppo, blackberry
""")
POSSESSIONS = listed("""
    house, apartment, flat, condo, cottage, cabin, farm, boat, sailboat, motorcycle, motorbike, bike, bicycle,
    road bike, mountain bike, e-bike, electric bike, scooter, camper, rv, caravan, telescope, camera, laptop,
    macbook, macbook pro, macbook air, thinkpad, pc, desktop, gaming pc, computer, tablet, ipad, kindle, ps5,
    playstation, playstation 5, xbox, nintendo switch, switch, steam deck, drone, 3d printer, sewing machine,
    espresso machine, air fryer, instant pot, treadmill, peloton, kayak, canoe, surfboard, paddleboard,
    snowboard, record player, turntable, vr headset, apple watch, smartwatch, garmin, fitbit, monitor, tv,
    projector, greenhouse, garden, allotment, hot tub, pool, sauna, vineyard, holiday home, vacation home,
    summer house, second home, tent, tractor, horse trailer, keyboard, mechanical keyboard, typewriter, printer,
    robot vacuum, roomba, grill, smoker, piano, guitar, violin, ukulele, synthesizer, shop, store, cafe, café,
    bakery, restaurant, bookshop, lawn mower, sewing room, workshop, studio, dslr, standing desk, rowing
    machine, exercise bike, wood stove, pizza oven, stand mixer, kitchenaid, dishwasher, generator, solar
    panels, heat pump, vinyl collection, record collection
""")
FIELDS = listed("""
    marketing, finance, sales, it, tech, healthcare, education, hr, human resources, logistics, construction,
    advertising, publishing, journalism, law, insurance, banking, real estate, retail, hospitality, customer
    service, customer support, consulting, accounting, engineering, design, cybersecurity, biotech, fintech,
    manufacturing, social work, public relations, pr, research, data science, software, software development,
    product management, tourism, fashion, film, television, tv, radio, architecture, nursing, agriculture,
    government, the public sector, the civil service, public health, games, gaming, the music industry
""")
SUBJECTS = listed("""
    physics, chemistry, biology, maths, math, mathematics, history, law, medicine, economics, philosophy,
    psychology, sociology, linguistics, literature, english literature, computer science, engineering,
    mechanical engineering, electrical engineering, civil engineering, chemical engineering, software
    engineering, data science, statistics, architecture, nursing, art, fine arts, fine art, art history, music,
    design, graphic design, business, business administration, accounting, finance, marketing, political
    science, politics, international relations, journalism, geography, geology, anthropology, archaeology,
    astronomy, astrophysics, biochemistry, neuroscience, pharmacy, dentistry, veterinary medicine, education,
    theology, film, theatre, drama, environmental science, marine biology, genetics, biotechnology, public
    health, criminology, classics, machine learning, artificial intelligence, ai, cybersecurity, nutrition,
    agriculture, fashion design, urban planning, social work, communications, media studies, information
    systems, robotics, aerospace engineering, biomedical engineering, botany, zoology, ecology
""")
ORGANISATIONS = listed("""
    hospital, bank, startup, start-up, school, university, restaurant, company, firm, agency, clinic, library,
    bakery, museum, hotel, bookstore, bookshop, cafe, café, coffee shop, supermarket, pharmacy, studio, lab,
    laboratory, nonprofit, non-profit, charity, ngo, consultancy, factory, warehouse, garage, farm, vineyard,
    brewery, nursery, kindergarten, college, call center, call centre, newspaper, magazine, publisher, zoo,
    airline, airport, salon, gym, spa, shelter, animal shelter, bar, pub, store, shop, dealership, foundation,
    think tank, newsroom, government, city council, council, embassy, law office, practice, nursing home, care
    home, hospice, daycare, daycare center, day care, fintech, hedge fund, department store, florist, tech
    company, law firm, post office, court, power plant, refinery, ministry, police, navy, army, theatre,
    theater, vet clinic, dental practice
""")
JOKES = listed("""
    batman, superman, spiderman, spider-man, iron man, groot, santa, santa claus, god, jesus, sherlock, sherlock
    holmes, spartacus, legend, the walrus, walrus, darth vader, thor, hulk, wolverine, gandalf, harry potter,
    bond, james bond, joker, elsa, godzilla, homer simpson, yoda, luke skywalker, satan, dracula, cinderella,
    barbie, shrek, napoleon, the doctor, legion, captain america, deadpool, wonder woman, neo, king kong, hal,
    hamlet
""")
NOT_NAMES = listed("""
    i, the, a, an, and, but, or, so, if, it, is, was, he, she, they, we, you, my, your, his, her, our, not, no,
    yes, ok, okay, in, on, at, to, for, of, with, from, by, as, hi, hello, hey, please, thanks, thank, sorry,
    sure, here, monday, tuesday, wednesday, thursday, friday, saturday, sunday, january, february, march, april,
    june, july, august, september, october, november, december, christmas, easter, halloween, thanksgiving,
    just, also, now, then, when, what, where, who, how, why, which, this, that, these, those, there, can, could,
    will, would, should, do, does, did, has, have, had, are, be, been, who's, that's, it's, he's, she's, i'm,
    i've, i'd, i'll, what's, lol, omg, btw, asap, all, back, done, good, great, fine, happy, sad, tired, ready,
    interested, looking, trying, going, really, very, too, aware, currently, still, always, never, actually,
    both, someone, anyone, everyone, nobody, covid, jewish, muslim, christian, catholic, hindu, buddhist,
    buddhism, republican, democrat, european, asian, african, latino, latina, hispanic, black, white, gay,
    lesbian, bisexual, trans, queer, lgbtq, ai, gen, team, type, infj, intj, enfp, infp, entp, istj, virgo,
    libra, scorpio, taurus, aries, leo, pisces, cancer, gemini, capricorn, aquarius, sagittarius, mr, mrs, ms,
    dr, dad, mom, mum, after, before, since, because, while, though, although, until, once, however, afterwards,
    yesterday, today, tomorrow, oh, well, wow, haha, yeah, yep, nope, nah, aww, ah, hmm, congrats, cool, nice,
    awesome, anyway, honestly, sadly, luckily, unfortunately, maybe, perhaps, plus, meanwhile, speaking,
    besides, only, same, right, exactly, absolutely, definitely, again, even, like, love, home, work, one, two,
    three, four, five
""") - {"leo"}
