-- ClickBench's queries, with the columns of wide_table.py. {names} stand for what the dialects write differently.
-- Pinot ignores the offset of groups: instead of some groups from the 1,001st on, all up to the last of them.

select count(*) from hits;

select count(*) from hits where code_0 <> 0;

select sum(code_0), count(*), avg(count_0) from hits;

select avg(hash_0) from hits;

select count(distinct hash_0) from hits;

select count(distinct phrase_0) from hits;

select min(time_0), max(time_0) from hits;

select code_0, count(*) from hits where code_0 <> 0 group by code_0 order by count(*) desc, code_0 limit
1000;

select count_2, count(distinct hash_0) as u from hits group by count_2 order by u desc, count_2 limit 10;

select count_2, sum(code_0), count(*) as c, avg(count_0), count(distinct hash_0) from hits group by
count_2 order by c desc, count_2 limit 10;

select word_0, count(distinct hash_0) as u from hits where word_0 <> '' group by word_0 order by u desc,
word_0 limit 10;

select code_1, word_0, count(distinct hash_0) as u from hits where word_0 <> '' group by code_1, word_0
order by u desc, code_1, word_0 limit 10;

select phrase_0, count(*) as c from hits where phrase_0 <> '' group by phrase_0 order by c desc, phrase_0
limit 10;

select phrase_0, count(distinct hash_0) as u from hits where phrase_0 <> '' group by phrase_0 order by u
desc, phrase_0 limit 10;

select code_2, phrase_0, count(*) as c from hits where phrase_0 <> '' group by code_2, phrase_0 order by
c desc, code_2, phrase_0 limit 10;

select hash_0, count(*) from hits group by hash_0 order by count(*) desc, hash_0 limit 10;

select hash_0, phrase_0, count(*) from hits group by hash_0, phrase_0 order by count(*) desc, hash_0,
phrase_0 limit 10;

select hash_0, phrase_0, count(*) from hits group by hash_0, phrase_0 order by hash_0, phrase_0 limit 10;

select hash_0, {minute} as m, phrase_0, count(*) from hits group by hash_0, {minute}, phrase_0 order by
count(*) desc, hash_0, {minute}, phrase_0 limit 10;

select hash_5 from hits where hash_5 = {a_hash} limit 1000;

select count(*) from hits where url_0 like '%film/car%';

select phrase_0, {min_text}(url_0), count(*) as c from hits where url_0 like '%film/car%' and phrase_0 <>
'' group by phrase_0 order by c desc, phrase_0 limit 10;

select phrase_0, {min_text}(url_0), {min_text}(url_1), count(*) as c, count(distinct hash_0) from hits
where url_1 like '%film%' and url_0 not like '%song/%' and phrase_0 <> '' group by phrase_0 order by c
desc, phrase_0 limit 10;

select * from hits where url_0 like '%film/car%' order by time_0, hash_0, hash_1 limit 10;

select phrase_0 from hits where phrase_0 <> '' order by time_0, hash_0, phrase_0 limit 10;

select phrase_0 from hits where phrase_0 <> '' order by phrase_0 limit 10;

select phrase_0 from hits where phrase_0 <> '' order by time_0, phrase_0 limit 10;

select count_1, avg(length(url_0)) as l, count(*) as c from hits where url_0 <> '' group by count_1
having count(*) > 10 order by l desc, count_1 limit 25;

select {host} as k, avg(length(url_2)) as l, count(*) as c, {min_text}(url_2) from hits where url_2 <> ''
group by {host} having count(*) > 100 order by l desc, {host} limit 25;

select {sums} from hits;

select code_2, hash_2, count(*) as c, sum(flag_0), avg(count_0) from hits where phrase_0 <> '' group by
code_2, hash_2 order by c desc, code_2, hash_2 limit 10;

select hash_1, hash_2, count(*) as c, sum(flag_0), avg(count_0) from hits where phrase_0 <> '' group by
hash_1, hash_2 order by c desc, hash_1, hash_2 limit 10;

select hash_1, hash_2, count(*) as c, sum(flag_0), avg(count_0) from hits group by hash_1, hash_2 order
by c desc, hash_1, hash_2 limit 10;

select url_0, count(*) as c from hits group by url_0 order by c desc, url_0 limit 10;

select 1, url_0, count(*) as c from hits group by url_0 order by c desc, url_0 limit 10;

select code_5, code_5 - 1, code_5 - 2, code_5 - 3, count(*) as c from hits group by code_5, code_5 - 1,
code_5 - 2, code_5 - 3 order by c desc, code_5 limit 10;

select url_0, count(*) as views from hits where {views} and flag_0 = 0 and url_0 <> '' group by url_0
order by views desc, url_0 limit 10;

select phrase_1, count(*) as views from hits where {views} and flag_0 = 0 and phrase_1 <> '' group by
phrase_1 order by views desc, phrase_1 limit 10;

select url_0, count(*) as views from hits where {views} and flag_0 = 0 and flag_35 <> 0 and flag_3 = 0
group by url_0 order by views desc, url_0 limit 1010;

select code_3, code_2, code_0, case when (code_2 = 0 and code_0 = 0) then url_2 else '' end as src,
url_0, count(*) as views from hits where {views} group by code_3, code_2, code_0, case when (code_2 = 0
and code_0 = 0) then url_2 else '' end, url_0 order by views desc, code_3, code_2, code_0, case when
(code_2 = 0 and code_0 = 0) then url_2 else '' end, url_0 limit 1010;

select hash_3, time_0, count(*) as views from hits where {views} and code_3 in (-1, 6) and code_6 = 3
group by hash_3, time_0 order by views desc, hash_3, time_0 limit 110;

select count_3, count_4, count(*) as views from hits where {views} and code_6 = 3 group by count_3,
count_4 order by views desc, count_3, count_4 limit 1010;

select {minute_of_time} as m, count(*) as views from hits where {views} group by {minute_of_time} order
by {minute_of_time} limit 1010;
