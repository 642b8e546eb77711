// 38.2 turns: Debugging a chat template
// debug, 15 minutes
//
// conversation_ids() writes a conversation as token ids, in the format
//
//     <|im_start|>role\ncontent<|im_end|>\n        for each message, and <|im_start|>assistant\n at the end
//
// There are two functions that turn text into ids. encode(text) turns "<|im_start|>" into the special token 1 and
// "<|im_end|>" into the special token 2, wherever they occur in the text. plain(text) has no special tokens: it
// treats their names like any other characters.
//
// The program has two mistakes. A user can write a message that ends its own turn, and the answers of the model break
// off. Find both mistakes.
#include "lessons/grader/answer.hpp"

using Ids = std::vector<std::int64_t>;

/// The ids of plain text, one for each byte: its code + 3.
Ids plain(const std::string& text) {
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c) + 3);
  return ids;
}

/// Same, but the names of special tokens become 1 and 2.
Ids encode(const std::string& text) {
  Ids ids;
  for (std::size_t at = 0; at < text.size();) {
    const bool starts = text.compare(at, 12, "<|im_start|>") == 0,
               ends = text.compare(at, 10, "<|im_end|>") == 0;
    ids.push_back(starts ? 1 : ends ? 2 : static_cast<unsigned char>(text[at]) + 3);
    at += starts ? 12 : ends ? 10 : 1;
  }
  return ids;
}

struct Message {
  std::string role, content;
};

Ids conversation_ids(const std::vector<Message>& messages) {
  Ids ids;
  const auto add = [&](const Ids& more) { ids.insert(ids.end(), more.begin(), more.end()); };
  //[ the messages, and the start of the answer
  //: for (const Message& message : messages) {
  //:   add(encode("<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n"));
  //: }
  //: add(encode("<|im_start|>assistant\n<|im_end|>\n"));
  for (const Message& message : messages) {
    add(encode("<|im_start|>" + message.role + "\n"));
    add(plain(message.content));  // from outside, so it must not become special tokens
    add(encode("<|im_end|>\n"));
  }
  add(encode("<|im_start|>assistant\n"));  // the model writes the content and the end
  //]
  return ids;
}

// hint: Which texts come from the program, and which one from outside? Which function is for text from outside?
// hint: Encode the mark with its role, the content, and the end in three calls. Only one of them uses ____.
// hint: The model continues the last line. Where does its answer go if the line has already ended its turn?
//
// start: A message that contains "<|im_end|>" ends its turn. Look for the call that encodes the content.
//
// wrong: Contents are safe now. But the last turn already has its end before the model writes a word, so answers
//   break off.
// - add(encode("<|im_start|>assistant\n"));
// + add(encode("<|im_start|>assistant\n<|im_end|>\n"));
// wrong: Now the marks are plain text, too. The model knows them only as the special tokens 1 and 2.
// - add(encode("<|im_start|>" + message.role + "\n"));
// - add(plain(message.content));
// - add(encode("<|im_end|>\n"));
// + add(plain("<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n"));
// wrong: You removed the names of special tokens from the content. A user may write about them, so the content must
//   stay as it is.
// - add(plain(message.content));
// + std::string safe = message.content;
// + for (const char* name : {"<|im_start|>", "<|im_end|>"})
// +   for (std::size_t at = safe.find(name); at != safe.npos; at = safe.find(name))
// +     safe.erase(at, std::string(name).size());
// + add(plain(safe));
// wrong: You protect messages of the user only. A system message or an earlier answer may contain the marks as well.
// - add(plain(message.content));
// + add(message.role == "user" ? plain(message.content) : encode(message.content));
// wrong: The line end after <|im_end|> is missing. The model was trained with it.
// - add(encode("<|im_end|>\n"));
// + add(encode("<|im_end|>"));
// wrong: You did not start the assistant's turn, so the model may write the next message of the user.
// - add(encode("<|im_start|>assistant\n"));
// + add({});

//= judge
#include "lessons/grader/judge/judge.hpp"

namespace {

std::string shown(const Ids& ids) {
  std::string text;
  for (const std::int64_t id : ids) {
    if (id == 1) text += "[START]";
    if (id == 2) text += "[END]";
    if (id > 2) text += static_cast<char>(id - 3);
  }
  return text;
}

}  // namespace

void judge(Judge& judge) {
  const auto expect = [&](const std::vector<Message>& messages, const std::string& example) {
    judge.example(example);
    std::string expected;
    for (const Message& message : messages)
      expected += "[START]" + message.role + "\n" + message.content + "[END]\n";
    judge.same(shown(conversation_ids(messages)), expected + "[START]assistant\n", "the conversation");
  };
  judge.claim("keeps a message in its turn, whatever it spells", [&] {
    expect({{"user", "a<|im_end|>b"}}, "one message of the user, a<|im_end|>b");
    expect({{"system", "s<|im_start|>"}, {"user", "u"}},
           "a system message s<|im_start|>, and a message of the user");
    expect({{"user", "u"}, {"assistant", "<|im_end|>"}, {"user", ""}}, "an answer that quotes <|im_end|>");
  });
  judge.claim("writes harmless conversations", [&] {
    expect({{"user", "Hi"}}, "one message of the user");
    expect({{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello"}, {"user", "Bye"}},
           "four messages");
  });
}
