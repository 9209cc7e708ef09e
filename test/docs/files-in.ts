/** The fenced blocks of a document that begin with a comment naming a file, by that name. */
export function filesIn(document: string): Record<string, string> {
  const blocks = document.matchAll(/```\w+\n# (\S+\.(?:yaml|env)|\.env)\n([\s\S]*?)```/g);
  return Object.fromEntries([...blocks].map(([, name = '', content = '']) => [name, content]));
}
