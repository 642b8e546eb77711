// Writes an archive in the form that the compiler's package reads: ustar, with an entry for each folder and without a slash
// at the end of its name.
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

function header(name, size, type) {
  if (name.length > 100) throw new Error(`a name in the archive must have at most 100 characters, got ${name}`);
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write(type === '5' ? '0000755\0' : '0000644\0', 100);
  block.write('0000000\0' + '0000000\0', 108);
  block.write(size.toString(8).padStart(11, '0') + '\0' + '0'.repeat(11) + '\0', 124);
  block.write(' '.repeat(8), 148); // the checksum counts itself as blanks
  block.write(type, 156);
  block.write('ustar\0' + '00', 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(sum.toString(8).padStart(6, '0') + '\0 ', 148);
  return block;
}

/// Returns the archive of everything below a folder, in the order of names.
export function tar(folder) {
  const blocks = [];
  const add = (below) => {
    const entries = readdirSync(join(folder, below), {withFileTypes: true}).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      const name = below ? `${below}/${entry.name}` : entry.name;
      if (entry.isDirectory()) {
        blocks.push(header(name, 0, '5'));
        add(name);
      } else {
        const bytes = readFileSync(join(folder, name));
        blocks.push(header(name, bytes.length, '0'), bytes, Buffer.alloc(-bytes.length & 511));
      }
    }
  };
  add('');
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}
