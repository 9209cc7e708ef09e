/** What Node alone takes to start and end: the least that any command can. */
export {};
