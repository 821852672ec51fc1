// Checks JSON against the part of JSON Schema 2020-12 that report.schema.json uses. A keyword it does not know is an
// error, so that a rule added to the schema cannot pass unchecked.
#pragma once
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace ampprof::test {

class SchemaCheck {
 public:
  explicit SchemaCheck(const nlohmann::json& schema) : root_(schema) {}
  /// What is wrong, each with the place; empty if nothing. Keys that the schema does not name are wrong here, although
  /// readers must ignore them: the writer is what is tested.
  std::vector<std::string> errors(const nlohmann::json& value) {
    errors_.clear();
    check(value, root_, "");
    return errors_;
  }

 private:
  using json = nlohmann::json;
  void wrong(const std::string& at, const std::string& what) {
    if (errors_.size() < 20) errors_.push_back(at + ": " + what);
  }

  static bool has_type(const json& value, const std::string& type) {
    if (type == "object") return value.is_object();
    if (type == "array") return value.is_array();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "null") return value.is_null();
    if (type == "integer") return value.is_number_integer();
    return type == "number" && value.is_number();
  }

  void check(const json& value, const json& schema, const std::string& at) {
    static const std::set<std::string> kKnown = {
        "$schema", "title", "description", "$defs",   "type",    "required",  "properties", "additionalProperties",
        "items",   "enum",  "const",       "minimum", "maximum", "minLength", "maxItems",   "anyOf",
        "$ref"};
    for (const auto& [keyword, unused] : schema.items())
      if (!kKnown.contains(keyword)) wrong(at, "the check does not know the keyword " + keyword);
    if (schema.contains("$ref")) {
      const auto pointer = schema["$ref"].get<std::string>().substr(1);
      check(value, root_.at(json::json_pointer(pointer)), at);
    }
    if (schema.contains("anyOf")) check_any(value, schema["anyOf"], at);
    if (schema.contains("const") && value != schema["const"]) wrong(at, "is not " + schema["const"].dump());
    if (schema.contains("enum")) {
      bool found = false;
      for (const json& word : schema["enum"]) found |= word == value;
      if (!found) wrong(at, value.dump() + " is none of " + schema["enum"].dump());
    }
    if (schema.contains("type")) {
      const json types = schema["type"].is_array() ? schema["type"] : json::array({schema["type"]});
      bool found = false;
      for (const json& type : types) found |= has_type(value, type.get<std::string>());
      if (!found) wrong(at, "is " + value.dump().substr(0, 60) + ", must be " + types.dump());
    }
    if (value.is_number() && schema.contains("minimum") && value < schema["minimum"])
      wrong(at, value.dump() + " is too small");
    if (value.is_number() && schema.contains("maximum") && value > schema["maximum"])
      wrong(at, value.dump() + " is too large");
    if (value.is_string() && schema.contains("minLength") &&
        value.get_ref<const std::string&>().size() < schema["minLength"])
      wrong(at, "is too short");
    if (value.is_array()) check_array(value, schema, at);
    if (value.is_object()) check_object(value, schema, at);
  }

  void check_any(const json& value, const json& choices, const std::string& at) {
    const auto before = errors_;
    for (const json& choice : choices) {
      errors_.clear();
      check(value, choice, at);
      if (errors_.empty()) {
        errors_ = before;
        return;
      }
    }
    errors_ = before;
    wrong(at, value.dump().substr(0, 60) + " fits none of the alternatives");
  }

  void check_array(const json& value, const json& schema, const std::string& at) {
    if (schema.contains("maxItems") && value.size() > schema["maxItems"]) wrong(at, "has too many items");
    if (!schema.contains("items")) return;
    for (std::size_t i = 0; i < value.size(); ++i) check(value[i], schema["items"], at + "[" + std::to_string(i) + "]");
  }

  void check_object(const json& value, const json& schema, const std::string& at) {
    if (schema.contains("required"))
      for (const json& key : schema["required"])
        if (!value.contains(key.get<std::string>())) wrong(at, "lacks " + key.dump());
    if (!schema.contains("properties") && !schema.contains("additionalProperties")) return;
    for (const auto& [key, item] : value.items()) {
      if (schema.contains("properties") && schema["properties"].contains(key))
        check(item, schema["properties"][key], at + "." + key);
      else if (schema.contains("additionalProperties"))
        check(item, schema["additionalProperties"], at + "." + key);
      else
        wrong(at, "has a key that the schema does not name: " + key);
    }
  }

  const json& root_;
  std::vector<std::string> errors_;
};

}  // namespace ampprof::test
