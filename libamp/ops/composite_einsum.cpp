// einsum: operands are contracted from left to right, each pair through one bmm.
#include <algorithm>
#include <string>

#include "libamp/dispatch/op_call.h"
#include "libamp/ops/create.h"
#include "libamp/ops/index.h"
#include "libamp/ops/math.h"
#include "libamp/ops/product.h"
#include "libamp/ops/view.h"

namespace amp::composite {
namespace {

// A tensor whose dims have letters; those of an ellipsis are '0' to '7', aligned at the right.
struct Named {
  Tensor tensor;
  std::string letters;
  [[nodiscard]] bool has(char c) const { return letters.find(c) != std::string::npos; }
  [[nodiscard]] std::int64_t size(char c) const {
    return has(c) ? tensor.size(static_cast<std::int64_t>(letters.find(c))) : 1;
  }
};

struct Equation {
  std::vector<std::string> operands;
  std::string output;
  bool output_given = false;
};

Equation parse(const OpCall& call, std::string text) {
  std::erase(text, ' ');
  Equation equation;
  std::string current;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '-' && i + 1 < text.size() && text[i + 1] == '>' && !equation.output_given) {
      equation.operands.push_back(current);
      current.clear();
      equation.output_given = true;
      ++i;
    } else if (c == ',' && !equation.output_given) {
      equation.operands.push_back(current);
      current.clear();
    } else if (text.compare(i, 3, "...") == 0 && current.find('.') == std::string::npos) {
      current += '.';
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      current += c;
    } else {
      call.fail("cannot read the equation: got '" + text + "', unexpected '" + std::string(1, c) + "'");
    }
  }
  if (equation.output_given)
    equation.output = current;
  else
    equation.operands.push_back(current);
  return equation;
}

// Replaces '.' by one digit per dim it stands for.
std::string spell_ellipsis(const std::string& letters, int dims) {
  std::string spelled;
  for (const char c : letters) {
    if (c != '.')
      spelled += c;
    else
      for (int i = 0; i < dims; ++i) spelled += static_cast<char>('0' + 8 - dims + i);
  }
  return spelled;
}

// Without "->": all letters that occur once, in alphabetical order, after the ellipsis.
std::string implicit_output(const std::vector<std::string>& operands) {
  std::string all, once;
  for (const auto& letters : operands) all += letters;
  for (const char c : all)
    if (c != '.' && std::count(all.begin(), all.end(), c) == 1) once += c;
  std::sort(once.begin(), once.end());
  return all.find('.') == std::string::npos ? once : "." + once;
}

// Takes the diagonal of dims that share a letter, by picking every (n + 1)th element of the two dims flattened.
Named without_repeats(const OpCall& call, Named x) {
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    const std::size_t j = x.letters.find(x.letters[i], i + 1);
    if (j == std::string::npos) continue;
    const std::int64_t n = x.tensor.size(static_cast<std::int64_t>(i));
    if (x.tensor.size(static_cast<std::int64_t>(j)) != n)
      call.fail("a repeated letter needs dims of one size: got '" + x.letters + "' for " + describe(x.tensor));
    Shape order{static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)}, sizes{n * n};
    for (int d = 0; d < x.tensor.dim(); ++d)
      if (d != order[0] && d != order[1]) {
        order.push_back(d);
        sizes.push_back(x.tensor.size(d));
      }
    const char letter = x.letters[i];
    x.tensor = index_select(reshape(permute(x.tensor, order), sizes), 0, arange(n) * wrapped_number(n + 1));
    x.letters.erase(j, 1);
    x.letters.erase(i, 1);
    x.letters.insert(0, 1, letter);
    i = 0;
  }
  return x;
}

// Sums away the letters that nobody needs any more.
Named without(Named x, const std::string& needed) {
  Shape dims;
  std::string kept;
  for (std::size_t i = 0; i < x.letters.size(); ++i) {
    if (needed.find(x.letters[i]) != std::string::npos)
      kept += x.letters[i];
    else
      dims.push_back(static_cast<std::int64_t>(i));
  }
  if (dims.empty()) return x;
  return {sum(x.tensor, dims), kept};
}

// The tensor with dims in the order of `letters`; ones it lacks get size 1.
Tensor arranged(const Named& x, const std::string& letters) {
  Shape order;
  for (const char c : letters)
    if (x.has(c)) order.push_back(static_cast<std::int64_t>(x.letters.find(c)));
  Tensor t = permute(x.tensor, order);
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (!x.has(letters[i])) t = unsqueeze(t, static_cast<std::int64_t>(i));
  return t;
}

Named contract(const OpCall& call, const Named& left, const Named& right, const std::string& needed) {
  std::string batch, inner, rows, columns;
  for (const char c : left.letters) {
    if (right.has(c))
      (needed.find(c) != std::string::npos ? batch : inner) += c;
    else
      rows += c;
  }
  for (const char c : right.letters)
    if (!left.has(c)) columns += c;
  const auto size_of = [&](char c) {
    const std::int64_t a = left.size(c), b = right.size(c);
    if (left.has(c) && right.has(c) && a != b && a != 1 && b != 1)
      call.fail(std::string("dims of letter '") + c + "' differ: got " + std::to_string(a) + " and " +
                std::to_string(b));
    return std::max(a, b);
  };
  const auto product_of = [&](const std::string& letters) {
    std::int64_t n = 1;
    for (const char c : letters) n *= size_of(c);
    return n;
  };
  const auto matrix = [&](const Named& x, const std::string& first, const std::string& second) {
    const std::string order = batch + first + second;
    Shape full;
    for (const char c : order) full.push_back(size_of(c));
    return reshape(expand(arranged(x, order), full), {product_of(batch), product_of(first), product_of(second)});
  };
  Shape sizes;
  for (const char c : batch + rows + columns) sizes.push_back(size_of(c));
  return {reshape(bmm(matrix(left, rows, inner), matrix(right, inner, columns)), sizes), batch + rows + columns};
}

}  // namespace

Tensors einsum(const OpCall& call) {
  const std::string text = call.attributes.text("equation", "");
  Equation equation = parse(call, text);
  if (equation.operands.size() != call.inputs.size())
    call.fail("the equation '" + text + "' is for " + std::to_string(equation.operands.size()) + " operands: got " +
              std::to_string(call.inputs.size()));
  if (!equation.output_given) equation.output = implicit_output(equation.operands);
  int ellipsis = 0;
  std::vector<Named> operands;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::string& letters = equation.operands[i];
    const bool open = letters.find('.') != std::string::npos;
    const int spelled = static_cast<int>(letters.size()) - (open ? 1 : 0), dims = call.in(i).dim() - spelled;
    if (dims < 0 || (!open && dims > 0))
      call.fail("operand " + std::to_string(i) + " has another number of dims than '" + letters + "': got " +
                describe(call.in(i)));
    ellipsis = std::max(ellipsis, open ? dims : 0);
    operands.push_back(without_repeats(call, {call.in(i), spell_ellipsis(letters, open ? dims : 0)}));
  }
  const std::string output = spell_ellipsis(equation.output, ellipsis);
  for (const char c : output)
    if (std::count(output.begin(), output.end(), c) > 1 ||
        std::none_of(operands.begin(), operands.end(), [c](const Named& x) { return x.has(c); }))
      call.fail("each output letter must occur once, and in an operand: got '" + text + "'");
  Named result = operands[0];
  for (std::size_t i = 1; i <= operands.size(); ++i) {
    std::string needed = output;
    for (std::size_t k = i + 1; k < operands.size(); ++k) needed += operands[k].letters;
    if (i == operands.size()) {
      result = without(result, output);
      break;
    }
    result = without(result, needed + operands[i].letters);
    result = contract(call, result, without(operands[i], needed + result.letters), needed);
  }
  return {arranged(result, output)};
}

}  // namespace amp::composite
